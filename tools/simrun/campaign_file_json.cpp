// SPDX-License-Identifier: Apache-2.0
// Campaign files as JSON, and the hashes beside them as bytes.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "heddle/simreactor/explore/lease_json.hpp"
#include "heddle/tools/simrun/detail/campaign_file.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "heddle-campaign";
constexpr std::uint64_t format_version = 1;
constexpr std::string_view seen_mark = "heddle-seen 1\n";

struct Refused {
    InputError error;
};

/// Members of a document, checked as they are read.
class Reader {
public:
    Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
        if (!json_.is_object()) { refuse("", "an object"); }
    }
    [[noreturn]] void refuse(const std::string& member, const char* expected) const {
        const bool there = json_.is_object() && json_.contains(member);
        throw Refused{{where_ + (member.empty() ? "" : "/" + member), expected,
                       member.empty() ? json_.dump().substr(0, 60)
                       : there        ? json_[member].dump().substr(0, 60)
                                      : "none"}};
    }
    [[nodiscard]] const Json& at(const std::string& member) const {
        if (!json_.contains(member)) { refuse(member, "a member of that name"); }
        return json_[member];
    }
    [[nodiscard]] std::uint64_t number(const std::string& member) const {
        if (!at(member).is_number_unsigned()) { refuse(member, "a whole number"); }
        return json_[member].get<std::uint64_t>();
    }
    [[nodiscard]] std::string text(const std::string& member) const {
        if (!at(member).is_string()) { refuse(member, "a string"); }
        return json_[member].get<std::string>();
    }
    [[nodiscard]] bool boolean(const std::string& member) const {
        if (!at(member).is_boolean()) { refuse(member, "true or false"); }
        return json_[member].get<bool>();
    }
    [[nodiscard]] std::vector<Reader> list(const std::string& member) const {
        if (!at(member).is_array()) { refuse(member, "an array"); }
        std::vector<Reader> items;
        for (std::size_t i = 0; i < json_[member].size(); ++i) {
            items.emplace_back(json_[member][i], where_ + "/" + member + "/" + std::to_string(i));
        }
        return items;
    }
    [[nodiscard]] const std::string& where() const { return where_; }

private:
    const Json& json_;
    std::string where_;
};

/// By kind: opportunities, strikes. Kinds that could not have struck are left out.
Json json_of(const sim::FaultTotals& faults) {
    Json json = Json::object();
    for (std::size_t index = 0; index < static_cast<std::size_t>(sim::FaultKind::count_); ++index) {
        const auto kind = static_cast<sim::FaultKind>(index);
        const sim::FaultTotals::Count& count = faults.of(kind);
        if (count.opportunities > 0) { json[std::string(sim::to_string(kind))] = {count.opportunities, count.struck}; }
    }
    return json;
}

sim::FaultTotals faults_of(const Json& json, const Reader& in) {
    sim::FaultTotals faults;
    if (!json.is_object()) { in.refuse("faults", "an object"); }
    std::size_t known = 0;
    for (std::size_t index = 0; index < static_cast<std::size_t>(sim::FaultKind::count_); ++index) {
        const auto kind = static_cast<sim::FaultKind>(index);
        const auto at = json.find(std::string(sim::to_string(kind)));
        if (at == json.end()) { continue; }
        if (!at->is_array() || at->size() != 2 || !(*at)[0].is_number_unsigned() || !(*at)[1].is_number_unsigned()) {
            in.refuse("faults", "two numbers for each kind");
        }
        faults.of(kind) = {(*at)[0].get<std::uint64_t>(), (*at)[1].get<std::uint64_t>()};
        ++known;
    }
    if (known != json.size()) { in.refuse("faults", "kinds of faults that are known"); }
    return faults;
}

Json json_of(const CampaignFile::Order& order) {
    const sim::Report& report = order.report;
    Json json{{"order", order.name},           {"over", order.over},
              {"complete", report.complete},   {"reduction", report.reduction},
              {"bound", report.bound},         {"rests_on", report.rests_on},
              {"runs", report.runs},           {"traces", report.traces},
              {"redundant", report.redundant}, {"cut", report.cut},
              {"deaths", order.deaths},        {"milliseconds", static_cast<std::uint64_t>(report.seconds * 1000)},
              {"parts", order.parts}};
    json["faults"] = json_of(report.faults);
    if (order.book) { json["leases"] = Json::parse(sim::to_json(*order.book)); }
    return json;
}

CampaignFile::Order order_of(const Reader& in) {
    CampaignFile::Order order;
    order.name = in.text("order");
    if (order.name != "faithful" && order.name != "any") { in.refuse("order", "faithful or any"); }
    order.over = in.boolean("over");
    sim::Report& report = order.report;
    report.complete = in.boolean("complete");
    report.reduction = in.text("reduction");
    report.bound = in.text("bound");
    report.rests_on = in.text("rests_on");
    report.runs = in.number("runs");
    report.traces = in.number("traces");
    report.redundant = in.number("redundant");
    report.cut = in.number("cut");
    order.deaths = in.number("deaths");
    report.seconds = static_cast<double>(in.number("milliseconds")) / 1000;
    order.parts = in.number("parts");
    return order;
}

CampaignFile file_of(const Json& json, const std::string& where) {
    const Reader in(json, where + ": ");
    if (in.text("format") != format_name) { in.refuse("format", format_name); }
    if (in.number("version") != format_version) { in.refuse("version", "1"); }
    CampaignFile file;
    const Json& search = in.at("search");
    if (!search.is_object()) { in.refuse("search", "an object"); }
    for (const auto& [name, value] : search.items()) {
        if (!value.is_string()) { in.refuse("search", "texts"); }
        file.search[name] = value.get<std::string>();
    }
    file.shard = {in.number("shard"), in.number("shards")};
    if (file.shard.index >= file.shard.count) { in.refuse("shard", "a number below `shards`"); }
    file.has_seen = in.boolean("seen");
    for (const Reader& item : in.list("orders")) {
        CampaignFile::Order order = order_of(item);
        if (file.order(order.name) != nullptr) { item.refuse("order", "each order once"); }
        const Json& at = json["orders"][file.orders.size()];
        if (at.contains("faults")) { order.report.faults = faults_of(at["faults"], item); }
        if (at.contains("leases")) {
            Result<sim::LeaseBook::Snapshot> book = sim::book_from_json(at["leases"].dump(), item.where() + "/leases");
            if (!book) { throw Refused{book.error()}; }
            order.book = *std::move(book);
        }
        file.orders.push_back(std::move(order));
    }
    for (const Reader& item : in.list("violations")) {
        file.violations.push_back(
            {item.text("invariant"), item.text("message"), item.text("mode"), item.text("trace")});
        const std::string& trace = file.violations.back().trace;
        if (trace.empty() || trace.find('/') != std::string::npos) {
            item.refuse("trace", "a file's name in this folder");
        }
    }
    return file;
}

/// FNV over the bytes: damage, not malice.
std::uint64_t digest_of(std::string_view bytes) { return hash_text(bytes); }

void append(std::string& bytes, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) { bytes += static_cast<char>(value >> (8 * i) & 255); }
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    }
    return value;
}

}  // namespace

CampaignFile::Order* CampaignFile::order(const std::string& name) {
    const auto found = std::ranges::find(orders, name, &Order::name);
    return found == orders.end() ? nullptr : &*found;
}

std::string to_json(const CampaignFile& file) {
    Json orders = Json::array();
    for (const CampaignFile::Order& order : file.orders) { orders.push_back(json_of(order)); }
    Json violations = Json::array();
    for (const CampaignFile::Violation& violation : file.violations) {
        violations.push_back({{"invariant", violation.invariant},
                              {"message", violation.message},
                              {"mode", violation.mode},
                              {"trace", violation.trace}});
    }
    const Json json{{"format", format_name},       {"version", format_version},          {"search", file.search},
                    {"shard", file.shard.index},   {"shards", file.shard.count},         {"seen", file.has_seen},
                    {"orders", std::move(orders)}, {"violations", std::move(violations)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CampaignFile> campaign_from_json(const std::string& text, const std::string& where) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        return InputError{where + ": (document)", "JSON", text.empty() ? "nothing" : "something else, or a part of it"};
    }
    try {
        return file_of(json, where);
    } catch (const Refused& refused) { return refused.error; }
}

std::string difference(const std::map<std::string, std::string>& expected,
                       const std::map<std::string, std::string>& found) {
    for (const auto& [name, value] : expected) {
        const auto other = found.find(name);
        if (other == found.end()) { return name + " is missing"; }
        if (other->second != value) {
            return name + " is " + trace::one_line(other->second) + ", not " + trace::one_line(value);
        }
    }
    for (const auto& [name, value] : found) {
        if (!expected.contains(name)) { return name + " is " + trace::one_line(value); }
    }
    return "";
}

std::string seen_to_bytes(const std::vector<std::uint64_t>& seen) {
    std::string bytes(seen_mark);
    append(bytes, seen.size());
    for (const std::uint64_t hash : seen) { append(bytes, hash); }
    append(bytes, digest_of(bytes));
    return bytes;
}

Result<std::vector<std::uint64_t>> seen_from_bytes(const std::string& bytes, const std::string& where) {
    const auto damaged = [&](const char* found) {
        return InputError{where, "a list of hashes as simrun writes it", found};
    };
    if (!bytes.starts_with(seen_mark)) { return damaged("something else"); }
    const std::size_t begin = seen_mark.size() + 8;
    if (bytes.size() < begin + 8) { return damaged("a part of one"); }
    const std::uint64_t count = number_at(bytes, seen_mark.size());
    if (count > bytes.size() / 8 || bytes.size() != begin + 8 * count + 8) { return damaged("a part of one"); }
    if (number_at(bytes, bytes.size() - 8) != digest_of(std::string_view(bytes).substr(0, bytes.size() - 8))) {
        return damaged("a damaged one");
    }
    std::vector<std::uint64_t> seen(count);
    for (std::size_t i = 0; i < count; ++i) { seen[i] = number_at(bytes, begin + 8 * i); }
    return seen;
}

}  // namespace heddle::detail
