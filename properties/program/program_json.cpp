// SPDX-License-Identifier: Apache-2.0
// Programs as text. A step is ["name", number or word …, [block] …], a block a list of steps, a program a list of blocks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {
namespace {

using Json = nlohmann::json;

void write(std::string& text, const Block& block);

void write(std::string& text, const Step& step) {
    const Signature& shape = signature(step.what);
    text += "[\"" + std::string(shape.name) + "\"";
    for (std::size_t i = 0; i < shape.fields.size(); ++i) {
        const Field& field = shape.fields[i];
        const std::uint32_t value = step.numbers[i];
        text += field.words.empty() ? "," + std::to_string(value) : ",\"" + std::string(field.words[value]) + "\"";
    }
    for (const Block& block : step.blocks) {
        text += ',';
        write(text, block);
    }
    text += ']';
}

void write(std::string& text, const Block& block) {
    text += '[';
    for (const Step& step : block) {
        if (&step != &block.front()) { text += ','; }
        write(text, step);
    }
    text += ']';
}

std::string shown(const Json& value) {
    constexpr std::size_t length_max = 40;
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > length_max) { text = text.substr(0, length_max) + "…"; }
    return text;
}

/// Refuses what is deeper than any program, before the parser keeps it.
bool too_deep(std::string_view text) {
    // A program is a list of blocks of steps; each further block is two lists deeper.
    constexpr std::size_t lists_max = 3 + 2 * (ProgramData::depth_max + 1);
    std::size_t depth = 0;
    for (const char c : text) {
        if (c == '[' || c == '{') { ++depth; }
        if ((c == ']' || c == '}') && depth > 0) { --depth; }
        if (depth > lists_max) { return true; }
    }
    return false;
}

class Reader {
public:
    explicit Reader(std::string_view where) : where_(where) {}

    Result<ProgramData> read(const Json& json) {
        if (!json.is_array() || json.empty() || json.size() > ProgramData::coroutines_max) {
            return wrong("", "a list of 1 to " + std::to_string(ProgramData::coroutines_max) + " coroutines", json);
        }
        ProgramData program;
        program.coroutines.clear();
        for (std::size_t i = 0; i < json.size(); ++i) {
            coroutine_ = static_cast<std::uint32_t>(i);
            coroutines_ = static_cast<std::uint32_t>(json.size());
            Block block;
            if (!read(json[i], "/" + std::to_string(i), 0, true, block)) { return error_; }
            program.coroutines.push_back(std::move(block));
        }
        return program;
    }

private:
    InputError wrong(const std::string& pointer, std::string expected, const Json& found) {
        error_ = {where_ + (pointer.empty() ? "" : " " + pointer), std::move(expected), shown(found)};
        return error_;
    }
    bool no(const std::string& pointer, std::string expected, const Json& found) {
        wrong(pointer, std::move(expected), found);
        return false;
    }

    bool read(const Json& json, const std::string& pointer, std::size_t depth, bool may_suspend, Block& block) {
        if (!json.is_array()) { return no(pointer, "a list of steps", json); }
        if (depth > ProgramData::depth_max) { return no(pointer, "blocks at most " + std::to_string(ProgramData::depth_max) + " deep", json); }
        for (std::size_t i = 0; i < json.size(); ++i) {
            if (++steps_ > ProgramData::steps_max) {
                return no(pointer, "at most " + std::to_string(ProgramData::steps_max) + " steps in all", json[i]);
            }
            Step step;
            if (!read(json[i], pointer + "/" + std::to_string(i), depth, may_suspend, step)) { return false; }
            block.push_back(std::move(step));
        }
        return true;
    }

    bool read(const Json& json, const std::string& pointer, std::size_t depth, bool may_suspend, Step& step) {
        if (!json.is_array() || json.empty() || !json[0].is_string()) { return no(pointer, "a step, as [\"yield\"]", json); }
        const std::string& name = json[0].get_ref<const std::string&>();
        std::size_t what = 0;
        while (what < static_cast<std::size_t>(Do::count_) && signature(static_cast<Do>(what)).name != name) { ++what; }
        if (what == static_cast<std::size_t>(Do::count_)) { return no(pointer + "/0", "the name of a step", json[0]); }
        step.what = static_cast<Do>(what);
        const Signature& shape = signature(step.what);
        if (json.size() != 1 + shape.fields.size() + shape.blocks) {
            return no(pointer, name + " with " + std::to_string(shape.fields.size()) + " values and " + std::to_string(shape.blocks) + " blocks",
                      json);
        }
        if (shape.suspends && !may_suspend) { return no(pointer, "a step that does not suspend", json); }
        for (std::size_t i = 0; i < shape.fields.size(); ++i) {
            if (!read(json[1 + i], pointer + "/" + std::to_string(1 + i), shape.fields[i], step.numbers[i])) { return false; }
        }
        for (std::size_t i = 0; i < shape.fields.size(); ++i) {
            if (spawns_coroutine(step.what, i) && (step.numbers[i] <= coroutine_ || step.numbers[i] >= coroutines_)) {
                return no(pointer + "/" + std::to_string(1 + i), "a coroutine behind this one (PD1)", json[1 + i]);
            }
        }
        const bool inner_may = may_suspend && step.what != Do::microtask && step.what != Do::anywhere;
        for (std::size_t i = 0; i < shape.blocks; ++i) {
            const std::size_t at = 1 + shape.fields.size() + i;
            step.blocks.emplace_back();
            if (!read(json[at], pointer + "/" + std::to_string(at), depth + 1, inner_may, step.blocks.back())) { return false; }
        }
        return true;
    }

    bool read(const Json& json, const std::string& pointer, const Field& field, std::uint32_t& value) {
        if (!field.words.empty()) {
            std::string all;
            for (std::uint32_t i = 0; i < field.words.size(); ++i) {
                if (json.is_string() && json.get_ref<const std::string&>() == field.words[i]) {
                    value = i;
                    return true;
                }
                all += (i == 0 ? "" : ", ") + std::string(field.words[i]);
            }
            return no(pointer, std::string(field.name) + ": one of " + all, json);
        }
        if (!json.is_number_unsigned() || json.get<std::uint64_t>() > field.max) {
            return no(pointer, std::string(field.name) + ": an integer from 0 to " + std::to_string(field.max), json);
        }
        value = static_cast<std::uint32_t>(json.get<std::uint64_t>());
        return true;
    }

    std::string where_;
    InputError error_;
    std::size_t steps_ = 0;
    std::uint32_t coroutine_ = 0;
    std::uint32_t coroutines_ = 0;
};

}  // namespace

std::string to_text(const ProgramData& program) {
    std::string text = "[";
    for (const Block& block : program.coroutines) {
        if (&block != &program.coroutines.front()) { text += ','; }
        write(text, block);
    }
    return text + "]";
}

Result<ProgramData> program_from_text(std::string_view text, std::string_view where) {
    if (text.size() > ProgramData::text_max) {
        return InputError{std::string(where), "at most " + std::to_string(ProgramData::text_max) + " characters", std::to_string(text.size())};
    }
    if (too_deep(text)) { return InputError{std::string(where), "blocks at most " + std::to_string(ProgramData::depth_max) + " deep", "deeper ones"}; }
    try {
        return Reader(where).read(Json::parse(text));
    } catch (const Json::parse_error& error) {
        return InputError{std::string(where) + " at byte " + std::to_string(error.byte), "a program, as [[[\"yield\"]]]", "no JSON"};
    } catch (const Json::out_of_range&) {
        return InputError{std::string(where), "numbers of 64 bits", "one that is larger"};
    }
}

}  // namespace heddle::prop
