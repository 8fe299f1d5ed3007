// SPDX-License-Identifier: Apache-2.0
// HEDDLE_PROPERTY_TEST_FOR: HEDDLE_PROPERTY_TEST for all arguments that RapidCheck draws. Needs the target heddle::rapidcheck.
//
//   HEDDLE_PROPERTY_TEST_FOR(Pool, LosesNothing, (Between<1, 3> places, std::vector<int> queries), {.order = any}, {.cases = 30}) {
//       …
//   }
//
// RV1  The arguments are drawn by rc::Arbitrary of their types, without const and references; each schedule gets its own copies.
// RV2  What fails is made simpler by RapidCheck's shrinking, each simpler case searched again, then by shrinking the schedule (drawn.hpp).
// RV3  The body runs inside a world: it draws nothing itself (no rc::gen), and says what is wrong as every property does (GT2). Arguments
//      that it is not about it returns on.
// Chance enters with the seed (HEDDLE_SEED).
#pragma once

#include <rapidcheck.h>

#include <concepts>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/properties/drawn.hpp"

namespace heddle::prop {

/// A number of `min` to `max`, both included; simpler towards `min`. All of them are drawn as often, whatever the size of a case.
template <auto min, auto max>
    requires(min <= max)
struct Between {
    using Number = std::common_type_t<decltype(min), decltype(max)>;
    Number value = min;
    constexpr operator Number() const { return value; }  // NOLINT(google-explicit-constructor): it is that number
    friend std::ostream& operator<<(std::ostream& out, const Between& number) { return out << +number.value; }
};

namespace detail {

/// The names in "(int clients, std::vector<int> sizes)"; one that has none is "argument 2".
[[nodiscard]] std::vector<std::string> argument_names(const char* parameters, std::size_t count);

template <class Tuple, class Body>
class RapidValues final : public DrawnValues {
public:
    RapidValues(rc::Shrinkable<Tuple> drawn, Body body, std::shared_ptr<const std::vector<std::string>> names)
        : drawn_(std::move(drawn)), body_(body), names_(std::move(names)) {}

    [[nodiscard]] std::string text() const override {
        std::string text;
        const Tuple values = drawn_.value();
        [&]<std::size_t... at>(std::index_sequence<at...>) {
            ((text += (at > 0 ? ", " : "") + (*names_)[at] + " = " + rc::toString(std::get<at>(values))), ...);
        }(std::make_index_sequence<std::tuple_size_v<Tuple>>{});
        return text;
    }
    [[nodiscard]] sim::Program program() const override {
        return [body = body_, values = std::make_shared<const Tuple>(drawn_.value())] { std::apply(body, Tuple(*values)); };
    }
    [[nodiscard]] std::unique_ptr<DrawnValues> next_simpler() override {
        if (!simpler_) { simpler_.emplace(drawn_.shrinks()); }
        rc::Maybe<rc::Shrinkable<Tuple>> next = simpler_->next();
        if (!next) { return nullptr; }
        return std::make_unique<RapidValues>(std::move(*next), body_, names_);
    }

private:
    rc::Shrinkable<Tuple> drawn_;
    Body body_;
    std::shared_ptr<const std::vector<std::string>> names_;
    std::optional<rc::Seq<rc::Shrinkable<Tuple>>> simpler_{};
};

struct DrawnOptions {
    PropertyOptions property;
    CaseOptions cases;
};
inline DrawnOptions drawn_options(PropertyOptions property = {}, CaseOptions cases = {}) { return {std::move(property), cases}; }

}  // namespace detail

/// @param parameters  as they are written, for their names
template <class... Args>
void run_property_for(const char* suite, const char* name, const detail::DrawnOptions& options, const char* parameters,
                      void (*body)(Args...)) {
    static_assert(sizeof...(Args) > 0, "a property without arguments is a HEDDLE_PROPERTY_TEST");
    static_assert((... && !(std::is_lvalue_reference_v<Args> && !std::is_const_v<std::remove_reference_t<Args>>)),
                  "arguments are values, or references to const");
    using Tuple = std::tuple<std::remove_cvref_t<Args>...>;
    using Values = detail::RapidValues<Tuple, void (*)(Args...)>;
    const auto names = std::make_shared<const std::vector<std::string>>(detail::argument_names(parameters, sizeof...(Args)));
    run_drawn_property(suite, name, options.property, options.cases, [&](const Draw& draw) -> std::unique_ptr<DrawnValues> {
        rc::Random random(draw.seed);
        rc::Random of_case = random.split();
        for (std::uint32_t i = 0; i < draw.number; ++i) { of_case = random.split(); }
        const rc::Gen<Tuple> arguments = rc::gen::tuple(rc::gen::arbitrary<std::remove_cvref_t<Args>>()...);
        try {
            rc::Shrinkable<Tuple> drawn = arguments(of_case, static_cast<int>(draw.size));
            static_cast<void>(drawn.value());  // here a generator gives up, not where it is asked
            return std::make_unique<Values>(std::move(drawn), body, names);
        } catch (const rc::GenerationFailure&) {
            return nullptr;
        }
    });
}

}  // namespace heddle::prop

template <auto min, auto max>
struct rc::Arbitrary<heddle::prop::Between<min, max>> {
    static rc::Gen<heddle::prop::Between<min, max>> arbitrary() {
        using Number = typename heddle::prop::Between<min, max>::Number;
        return rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(min, std::int64_t{max} + 1)),
                            [](std::int64_t value) { return heddle::prop::Between<min, max>{static_cast<Number>(value)}; });
    }
};

/// HEDDLE_PROPERTY_TEST_FOR(Suite, Name, (parameters)), (…, {options}) or (…, {options}, {cases}): see above. The options are those of
/// PropertyOptions, as for HEDDLE_PROPERTY_TEST, and those of CaseOptions.
#define HEDDLE_PROPERTY_TEST_FOR(suite, name, parameters, ...)                                                            \
    struct HeddleProperty_##suite##_##name {                                                                              \
        static ::heddle::prop::detail::DrawnOptions options();                                                            \
        static void body parameters;                                                                                      \
    };                                                                                                                    \
    ::heddle::prop::detail::DrawnOptions HeddleProperty_##suite##_##name::options() {                                     \
        using namespace std::chrono_literals; /* NOLINT(google-build-using-namespace): one function's options */           \
        using enum ::heddle::trace::Order;                                                                                \
        using enum ::heddle::trace::TimeLevel;                                                                            \
        using enum ::heddle::sim::Strategy;                                                                               \
        using enum ::heddle::sim::Reduction;                                                                              \
        return ::heddle::prop::detail::drawn_options(__VA_ARGS__);                                                        \
    }                                                                                                                     \
    TEST(suite, name) {                                                                                                   \
        ::heddle::prop::run_property_for(#suite, #name, HeddleProperty_##suite##_##name::options(), #parameters,          \
                                         &HeddleProperty_##suite##_##name::body);                                         \
    }                                                                                                                     \
    void HeddleProperty_##suite##_##name::body parameters
