// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/generator.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "heddle/simreactor/prng.hpp"

namespace heddle::prop {
namespace {

using sim::Prng;

/// Draws one program, step by step, within its limits.
class Author {
public:
    Author(std::uint64_t seed, const ProgramLimits& limits, int size) : prng_(seed), limits_(limits) {
        // RapidCheck's size grows from 0 to 100: small programs first.
        const auto scaled = [size](std::size_t most) { return std::max<std::size_t>(1, most * static_cast<std::size_t>(std::min(size, 100)) / 100); };
        budget_ = 2 + scaled(limits.steps);
        coroutines_ = 1 + prng_.below(std::max<std::size_t>(1, scaled(limits.coroutines)));
        coroutines_ = std::min(coroutines_ + 1, std::max<std::size_t>(limits.coroutines, 1));
    }

    ProgramData program() {
        ProgramData data;
        data.coroutines.clear();
        for (std::size_t i = 0; i < coroutines_; ++i) {
            index_ = static_cast<std::uint32_t>(i);
            const std::size_t share = std::max<std::size_t>(1, budget_ / (coroutines_ - i));
            data.coroutines.push_back(block(1 + prng_.below(share), 0, true));
        }
        return data;
    }

private:
    struct Weight {
        Do what;
        std::uint32_t weight;
    };
    static constexpr std::array core_weights{Weight{Do::yield, 10},   Weight{Do::sleep, 8},     Weight{Do::spawn, 14},    Weight{Do::go, 4},
                                             Weight{Do::await, 12},   Weight{Do::both, 3},      Weight{Do::cancel, 8},    Weight{Do::set, 6},
                                             Weight{Do::wait, 7},     Weight{Do::protect, 5},   Weight{Do::cleanup, 3},   Weight{Do::attempt, 7},
                                             Weight{Do::fail, 4},     Weight{Do::scope, 7},     Weight{Do::request, 4},   Weight{Do::finally, 4},
                                             Weight{Do::microtask, 3}, Weight{Do::anywhere, 4}, Weight{Do::either, 2},    Weight{Do::shutdown, 1}};
    // Fewer scopes and errors, more who meet in one object.
    static constexpr std::array primitive_weights{
        Weight{Do::yield, 8},     Weight{Do::sleep, 5},       Weight{Do::spawn, 18},   Weight{Do::await, 6},    Weight{Do::cancel, 10},
        Weight{Do::protect, 2},   Weight{Do::cleanup, 2},     Weight{Do::attempt, 5},  Weight{Do::fail, 2},     Weight{Do::scope, 3},
        Weight{Do::microtask, 2}, Weight{Do::anywhere, 6},    Weight{Do::shutdown, 1}, Weight{Do::lock, 6},     Weight{Do::permit, 6},
        Weight{Do::change, 4},    Weight{Do::news, 4},        Weight{Do::send, 10},    Weight{Do::receive, 10}, Weight{Do::try_send, 3},
        Weight{Do::try_receive, 3}, Weight{Do::later, 4},     Weight{Do::obtain, 4},   Weight{Do::close, 2},    Weight{Do::settle, 3},
        Weight{Do::future, 4},    Weight{Do::use, 14},        Weight{Do::try_use, 4},  Weight{Do::close_pool, 2}, Weight{Do::group, 4}};
    static constexpr std::array model_weights{Weight{Do::yield, 5},       Weight{Do::cancel, 4},  Weight{Do::send, 8}, Weight{Do::receive, 8},
                                              Weight{Do::try_send, 3},    Weight{Do::try_receive, 3}, Weight{Do::close, 2}, Weight{Do::use, 8},
                                              Weight{Do::try_use, 3},     Weight{Do::close_pool, 1}, Weight{Do::lock, 6}, Weight{Do::permit, 6}};

    static constexpr std::array model_pool_weights{Weight{Do::yield, 5}, Weight{Do::cancel, 5}, Weight{Do::use, 14}, Weight{Do::try_use, 4},
                                                   Weight{Do::close_pool, 1}};

    static constexpr std::array model_lock_weights{Weight{Do::yield, 7}, Weight{Do::cancel, 5}, Weight{Do::lock, 4}, Weight{Do::permit, 16}};

    [[nodiscard]] std::span<const Weight> weights() const {
        switch (limits_.alphabet) {
            case Alphabet::core: return core_weights;
            case Alphabet::primitives: return primitive_weights;
            case Alphabet::model: return model_weights;
            case Alphabet::model_pools: return model_pool_weights;
            case Alphabet::model_locks: return model_lock_weights;
        }
        return {};
    }

    Block block(std::uint64_t length, std::size_t depth, bool may_suspend) {
        Block steps;
        for (std::uint64_t i = 0; i < length && budget_ > 0; ++i) {
            --budget_;
            steps.push_back(step(depth, may_suspend));
        }
        return steps;
    }

    Do draw_kind(std::size_t depth, bool may_suspend) {
        std::uint32_t total = 0;
        const auto fits = [&](Do what) {
            const Signature& shape = signature(what);
            const bool spawns = spawns_coroutine(what, 0) || spawns_coroutine(what, 1);
            if (is_exclusive(what) && is_of_model() && exclusive_ > 0) { return false; }  // two of them can deadlock, and one with itself
            return (may_suspend || !shape.suspends) && (depth < limits_.depth || shape.blocks == 0) && (!spawns || index_ + 1 < coroutines_);
        };
        for (const Weight& weight : weights()) { total += fits(weight.what) ? weight.weight : 0; }
        std::uint64_t at = prng_.below(total);
        for (const Weight& weight : weights()) {
            if (!fits(weight.what)) { continue; }
            if (at < weight.weight) { return weight.what; }
            at -= weight.weight;
        }
        return Do::set;
    }

    Step step(std::size_t depth, bool may_suspend) {
        Step drawn;
        drawn.what = draw_kind(depth, may_suspend);
        const Signature& shape = signature(drawn.what);
        for (std::size_t i = 0; i < shape.fields.size(); ++i) { drawn.numbers[i] = number(shape.fields[i]); }
        for (std::size_t i = 0; i < shape.fields.size(); ++i) {
            if (!spawns_coroutine(drawn.what, i)) { continue; }
            drawn.numbers[i] = index_ + 1 + static_cast<std::uint32_t>(prng_.below(coroutines_ - index_ - 1));
        }
        if (is_of_model()) { as_the_model_knows(drawn); }
        const bool inner_may = may_suspend && drawn.what != Do::microtask && drawn.what != Do::anywhere;
        exclusive_ += is_exclusive(drawn.what) ? 1 : 0;
        for (std::uint32_t i = 0; i < shape.blocks; ++i) { drawn.blocks.push_back(block(prng_.below(4), depth + 1, inner_may)); }
        exclusive_ -= is_exclusive(drawn.what) ? 1 : 0;
        return drawn;
    }

    [[nodiscard]] bool is_of_model() const { return limits_.alphabet >= Alphabet::model; }
    [[nodiscard]] static bool is_exclusive(Do what) { return what == Do::lock || what == Do::permit; }

    /// No deadlines, and the pools without hooks.
    void as_the_model_knows(Step& step) {
        switch (step.what) {
            case Do::send:
            case Do::receive: step.numbers[1] = 0; return;
            case Do::use: step.numbers[1] = 0; [[fallthrough]];
            case Do::try_use:
            case Do::close_pool: step.numbers[0] = step.numbers[0] == 0 ? 0 : 1; return;
            default: return;
        }
    }

    std::uint32_t number(const Field& field) {
        if (field.max == ProgramData::ms_max) {
            // Few different times, so that deadlines meet; none is a wait without a bound.
            static constexpr std::array<std::uint32_t, 8> times{0, 1, 1, 2, 2, 5, 10, 40};
            return times[prng_.below(times.size())];
        }
        const bool names_coroutine = field.words.empty() && field.max == ProgramData::coroutines_max - 1;
        return static_cast<std::uint32_t>(prng_.below(names_coroutine ? coroutines_ : std::uint64_t{field.max} + 1));
    }

    Prng prng_;
    ProgramLimits limits_;
    std::size_t budget_ = 0;
    int exclusive_ = 0;  // blocks of locks and permits around the present one
    std::size_t coroutines_ = 1;
    std::uint32_t index_ = 0;
};

// ── shrinking ──

/// Without coroutine `gone`: whoever names it is dropped, higher ones move down.
Block without_coroutine(const Block& block, std::uint32_t gone) {
    Block left;
    for (Step step : block) {
        bool names_it = false;
        for (std::size_t i = 0; i < step.numbers.size(); ++i) {
            if (!names_coroutine(step.what, i)) { continue; }
            names_it = names_it || step.numbers[i] == gone;
            if (step.numbers[i] > gone) { --step.numbers[i]; }
        }
        if (names_it) { continue; }
        for (Block& inner : step.blocks) { inner = without_coroutine(inner, gone); }
        left.push_back(std::move(step));
    }
    return left;
}

/// Calls `visit` with each block that has one step fewer, or one that is simpler.
void simpler_blocks(const Block& block, const std::function<void(const Block&)>& visit) {
    for (std::size_t i = 0; i < block.size(); ++i) {
        Block shorter = block;
        shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
        visit(shorter);
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
        const Step& step = block[i];
        for (const Block& inner : step.blocks) {  // unwrapped: the block in the step's place
            if (step.what == Do::microtask || step.what == Do::anywhere || inner.empty()) { continue; }
            Block flat = block;
            flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(i));
            flat.insert(flat.begin() + static_cast<std::ptrdiff_t>(i), inner.begin(), inner.end());
            visit(flat);
        }
        for (std::size_t k = 0; k < step.blocks.size(); ++k) {
            simpler_blocks(step.blocks[k], [&](const Block& inner) {
                Block changed = block;
                changed[i].blocks[k] = inner;
                visit(changed);
            });
        }
        for (std::size_t k = 0; k < signature(step.what).fields.size(); ++k) {
            if (names_coroutine(step.what, k)) { continue; }
            for (const std::uint32_t lower : {0U, 1U, step.numbers[k] / 2}) {
                if (lower >= step.numbers[k]) { continue; }
                Block changed = block;
                changed[i].numbers[k] = lower;
                visit(changed);
            }
        }
    }
}

}  // namespace

std::vector<ProgramData> smaller(const ProgramData& program) {
    std::vector<ProgramData> list;
    for (std::size_t gone = program.coroutines.size(); gone-- > 1;) {
        ProgramData fewer;
        fewer.coroutines.clear();
        for (std::size_t i = 0; i < program.coroutines.size(); ++i) {
            if (i != gone) { fewer.coroutines.push_back(without_coroutine(program.coroutines[i], static_cast<std::uint32_t>(gone))); }
        }
        list.push_back(std::move(fewer));
    }
    for (std::size_t i = 0; i < program.coroutines.size(); ++i) {
        simpler_blocks(program.coroutines[i], [&](const Block& block) {
            ProgramData changed = program;
            changed.coroutines[i] = block;
            list.push_back(std::move(changed));
        });
    }
    return list;
}

rc::Gen<ProgramData> arbitrary_program(const ProgramLimits& limits) {
    return [limits](const rc::Random& random, int size) {
        rc::Random drawn = random;
        return rc::shrinkable::shrinkRecur(Author(drawn.next(), limits, size).program(),
                                           [](const ProgramData& program) { return rc::seq::fromContainer(smaller(program)); });
    };
}

rc::Gen<Schedule> arbitrary_schedule(std::size_t length_max) {
    // Most answers are production's: what is rare is to find a few others, in any place.
    return rc::gen::resize(static_cast<int>(length_max),
                           rc::gen::container<Schedule>(rc::gen::weightedOneOf<std::uint8_t>(
                               {{3, rc::gen::just<std::uint8_t>(0)}, {2, rc::gen::inRange<std::uint8_t>(0, 6)}})));
}

}  // namespace heddle::prop
