// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/lease_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;

// ── writing ──

std::string spelled(std::uint64_t value) { return std::to_string(value); }

Json json_of(const std::vector<Label>& labels) {
    Json list = Json::array();
    for (const Label label : labels) { list.push_back(spelled(label.value)); }
    return list;
}

Json json_of(const std::vector<Touch>& feet) {
    Json list = Json::array();
    for (const Touch& foot : feet) { list.push_back({spelled(foot.cell.value), static_cast<int>(foot.mode)}); }
    return list;
}

Json json_of(const Lease::Node& node) {
    Json json{{"question", node.question},
              {"asked", node.asked},
              {"current", spelled(node.current.value)},
              {"enabled", json_of(node.enabled)},
              {"source", json_of(node.source)}};
    if (!node.current_feet.empty()) { json["touches"] = json_of(node.current_feet); }
    if (!node.lent.empty()) { json["lent"] = json_of(node.lent); }
    for (const Lease::Sleeper& sleeper : node.slept) {
        json["slept"].push_back({{"process", spelled(sleeper.pid.value)}, {"touches", json_of(sleeper.feet)}});
    }
    return json;
}

Json json_of(const Lease& lease) {
    Json nodes = Json::array();
    for (const Lease::Node& node : lease.nodes) { nodes.push_back(json_of(node)); }
    Json json{{"depth", lease.depth},
              {"fixed", lease.fixed},
              {"fresh", lease.fresh},
              {"whole_loop", lease.whole_loop},
              {"orders_shown", lease.orders_shown},
              {"zombies_shown", lease.zombies_shown},
              {"answers", lease.answers},
              {"counts", lease.counts},
              {"nodes", std::move(nodes)}};
    for (const SharedMemory::Entry& entry : lease.memory) {
        json["memory"].push_back({{"granule", spelled(entry.key)}, {"shared", entry.granule.shared}, {"cuts", entry.granule.cuts}});
    }
    return json;
}

Json json_of(const UpwardRace& race) { return {{"node", race.node}, {"initials", json_of(race.initials)}}; }

Json json_of(const LentNews& news) {
    return {{"node", news.node},
            {"process", spelled(news.pid.value)},
            {"touches", json_of(news.feet)},
            {"done", news.done}};
}

template <class T>
Json json_of_all(const std::vector<T>& list) {
    Json all = Json::array();
    for (const T& one : list) { all.push_back(json_of(one)); }
    return all;
}

Json json_of(const SliceInput& input) {
    return {{"lease", json_of(input.lease)}, {"races", json_of_all(input.races)}, {"news", json_of_all(input.news)}};
}

// ── reading ──

/// Thrown inside this file alone.
struct Refused {
    std::string at;
    std::string expected;
    std::string found;
};

/// A place in a document.
class At {
public:
    At(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

    [[nodiscard]] At member(const char* name) const {
        if (!json_.is_object()) { refuse("an object"); }
        const auto found = json_.find(name);
        if (found == json_.end()) { throw Refused{path_, std::string("a member ") + name, "none"}; }
        return {*found, path_ + "/" + name};
    }
    [[nodiscard]] std::optional<At> optional(const char* name) const {
        if (!json_.is_object()) { refuse("an object"); }
        return json_.contains(name) ? std::optional(member(name)) : std::nullopt;
    }
    [[nodiscard]] std::vector<At> items() const {
        if (!json_.is_array()) { refuse("an array"); }
        std::vector<At> list;
        for (std::size_t i = 0; i < json_.size(); ++i) { list.emplace_back(json_[i], path_ + "/" + std::to_string(i)); }
        return list;
    }
    [[nodiscard]] std::uint32_t u32() const {
        if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() > 0xffffffffU) {
            refuse("a whole number below 2^32");
        }
        return json_.get<std::uint32_t>();
    }
    [[nodiscard]] std::uint64_t u64() const {
        std::uint64_t value = 0;
        const std::string text = json_.is_string() ? json_.get<std::string>() : "";
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
            refuse("a string with a whole number below 2^64");
        }
        return value;
    }
    [[nodiscard]] bool boolean() const {
        if (!json_.is_boolean()) { refuse("true or false"); }
        return json_.get<bool>();
    }
    [[noreturn]] void refuse(const char* expected) const { throw Refused{path_, expected, json_.dump().substr(0, 60)}; }
    [[nodiscard]] const Json& json() const { return json_; }

private:
    const Json& json_;
    std::string path_;
};

std::vector<Label> labels_of(const At& at) {
    std::vector<Label> labels;
    for (const At& item : at.items()) { labels.push_back(Label{item.u64()}); }
    return labels;
}

std::vector<Touch> touches_of(const At& at) {
    std::vector<Touch> touches;
    for (const At& item : at.items()) {
        const std::vector<At> pair = item.items();
        if (pair.size() != 2 || pair[1].u32() > static_cast<std::uint32_t>(TouchMode::take)) {
            item.refuse("a cell and a mode");
        }
        touches.push_back({Cell{pair[0].u64()}, static_cast<TouchMode>(pair[1].u32())});
    }
    return touches;
}

bool holds(const std::vector<Label>& list, Label label) { return std::ranges::find(list, label) != list.end(); }

Lease::Node node_of(const At& at) {
    Lease::Node node;
    node.question = at.member("question").u32();
    node.asked = at.member("asked").boolean();
    node.current = Label{at.member("current").u64()};
    node.enabled = labels_of(at.member("enabled"));
    node.source = labels_of(at.member("source"));
    if (const auto feet = at.optional("touches"); feet) { node.current_feet = touches_of(*feet); }
    if (const auto lent = at.optional("lent"); lent) { node.lent = labels_of(*lent); }
    if (const auto slept = at.optional("slept"); slept) {
        for (const At& item : slept->items()) {
            node.slept.push_back({Label{item.member("process").u64()}, touches_of(item.member("touches"))});
        }
    }
    if (!holds(node.enabled, node.current)) { at.member("current").refuse("a process that is enabled"); }
    for (const Label label : node.source) {
        if (!holds(node.enabled, label)) { at.member("source").refuse("processes that are enabled"); }
    }
    return node;
}

Lease lease_of(const At& at) {
    Lease lease;
    lease.depth = at.member("depth").u32();
    lease.fixed = at.member("fixed").u32();
    lease.fresh = at.member("fresh").boolean();
    lease.whole_loop = at.member("whole_loop").boolean();
    lease.orders_shown = at.member("orders_shown").boolean();
    lease.zombies_shown = at.member("zombies_shown").boolean();
    if (const auto memory = at.optional("memory"); memory) {
        for (const At& item : memory->items()) {
            const auto bits = [&](const char* name) {
                const std::uint32_t value = item.member(name).u32();
                if (value > 0xff) { item.member(name).refuse("a bit per byte, 0 to 255"); }
                return static_cast<std::uint8_t>(value);
            };
            lease.memory.push_back({item.member("granule").u64(), {bits("shared"), bits("cuts")}});
        }
    }
    for (const At& item : at.member("answers").items()) { lease.answers.push_back(item.u32()); }
    for (const At& item : at.member("counts").items()) { lease.counts.push_back(item.u32()); }
    for (const At& item : at.member("nodes").items()) { lease.nodes.push_back(node_of(item)); }
    if (lease.counts.size() != lease.answers.size()) { at.member("counts").refuse("as many as there are answers"); }
    for (std::size_t i = 0; i < lease.answers.size(); ++i) {
        if (lease.answers[i] >= lease.counts[i]) { at.member("answers").refuse("answers below their counts"); }
    }
    std::uint32_t from = 0;
    for (std::size_t i = 0; i < lease.nodes.size(); ++i) {
        const Lease::Node& node = lease.nodes[i];
        if (node.question < from || node.question + (node.asked ? 1U : 0U) > lease.answers.size()) {
            at.member("nodes").items()[i].member("question").refuse("questions that follow each other");
        }
        const bool right = !node.asked || (lease.counts[node.question] == node.enabled.size() &&
                                           node.enabled[lease.answers[node.question]] == node.current);
        if (!right) { at.member("nodes").items()[i].member("current").refuse("the process that its answer chose"); }
        from = node.question + (node.asked ? 1U : 0U);
    }
    if (lease.fixed > lease.answers.size()) { at.member("fixed").refuse("at most the number of answers"); }
    if (lease.depth > lease.nodes.size()) { at.member("depth").refuse("at most the number of nodes"); }
    if (lease.fresh && lease.depth != lease.nodes.size()) {
        at.member("fresh").refuse("false, as it has nodes of its own");
    }
    return lease;
}

UpwardRace race_of(const At& at) { return {at.member("node").u32(), labels_of(at.member("initials"))}; }

LentNews news_of(const At& at) {
    return {at.member("node").u32(), Label{at.member("process").u64()}, touches_of(at.member("touches")),
            at.member("done").boolean()};
}

SliceInput input_of(const At& at) {
    SliceInput input{lease_of(at.member("lease"))};
    for (const At& item : at.member("races").items()) { input.races.push_back(race_of(item)); }
    for (const At& item : at.member("news").items()) { input.news.push_back(news_of(item)); }
    const auto inside = [&](const At& list, std::uint32_t node) {
        if (node >= input.lease.nodes.size()) { list.refuse("nodes of the lease"); }
    };
    for (const UpwardRace& race : input.races) { inside(at.member("races"), race.node); }
    for (const LentNews& news : input.news) { inside(at.member("news"), news.node); }
    return input;
}

constexpr std::array states{"ready", "waiting", "done", "restart"};

template <class T, class Read>
Result<T> read(std::string_view text, const std::string& where, Read from) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) { return InputError{where + ": (document)", "JSON", "something else, or a part of it"}; }
    try {
        return from(At(json, ""));
    } catch (const Refused& refused) {
        return InputError{where + ": " + (refused.at.empty() ? "(document)" : refused.at), refused.expected,
                          refused.found};
    }
}

}  // namespace

std::string to_json(const Lease& lease) { return json_of(lease).dump(); }
std::string to_json(const SliceInput& input) { return json_of(input).dump(); }

std::string to_json(const SliceResult& result) {
    Json json{{"state", states.at(static_cast<std::size_t>(result.state))},
              {"lease", json_of(result.lease)},
              {"upward", json_of_all(result.upward)},
              {"given", json_of_all(result.given)}};
    if (result.news) { json["news"] = json_of(*result.news); }
    return json.dump();
}

std::string to_json(const LeaseBook::Snapshot& book) {
    Json parts = Json::array();
    for (const auto& [number, entry] : book.parts) {
        parts.push_back(
            {{"part", number}, {"owner", entry.owner}, {"waiting", entry.waiting}, {"input", json_of(entry.input)}});
    }
    return Json{{"next", book.next}, {"parts", std::move(parts)}}.dump();
}

Result<Lease> lease_from_json(std::string_view text, const std::string& where) {
    return read<Lease>(text, where, &lease_of);
}

Result<SliceResult> slice_from_json(std::string_view text, const std::string& where) {
    return read<SliceResult>(text, where, [](const At& at) {
        SliceResult result;
        const At state = at.member("state");
        const auto found = std::ranges::find_if(states, [&](const char* name) { return state.json() == name; });
        if (found == states.end()) { state.refuse("ready, waiting, done or restart"); }
        result.state = static_cast<SliceResult::State>(found - states.begin());
        result.lease = lease_of(at.member("lease"));
        for (const At& item : at.member("upward").items()) { result.upward.push_back(race_of(item)); }
        for (const At& item : at.member("given").items()) { result.given.push_back(lease_of(item)); }
        if (const auto news = at.optional("news"); news) { result.news = news_of(*news); }
        return result;
    });
}

Result<LeaseBook::Snapshot> book_from_json(std::string_view text, const std::string& where) {
    return read<LeaseBook::Snapshot>(text, where, [](const At& at) {
        LeaseBook::Snapshot book;
        book.next = at.member("next").u32();
        for (const At& item : at.member("parts").items()) {
            const std::uint64_t part = item.member("part").u32();
            if (part == 0 || part >= book.next || book.parts.contains(part)) {
                item.member("part").refuse("a new number below `next`");
            }
            LeaseBook::Entry entry;
            entry.owner = item.member("owner").u32();
            if (entry.owner >= part) { item.member("owner").refuse("an older part, or 0"); }
            entry.waiting = item.member("waiting").boolean();
            entry.input = input_of(item.member("input"));
            book.parts.emplace(part, std::move(entry));
        }
        for (const At& item : at.member("parts").items()) {
            const std::uint64_t owner = item.member("owner").u32();
            if (owner != 0 && !book.parts.contains(owner)) { item.member("owner").refuse("a part that is here, or 0"); }
        }
        return book;
    });
}

}  // namespace heddle::sim
