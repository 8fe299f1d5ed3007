// SPDX-License-Identifier: Apache-2.0
// CampaignFile: a search as a file: what is searched, what is known, and where to go on. The results of shards and the
// folders of resumable searches are made of it.
//
//   {"format": "heddle-campaign", "search": {scenario, seed, strategy, …}, "shard": …, "orders": [{report, leases}],
//   "violations": […]} beside it, where traces may come twice: <name>.seen, their hashes, ascending
//
// CF1  Two files belong together iff their `search` is the same text.
// CF2  A file is written whole or not at all (trace_file.hpp); a damaged one is refused with its place.
// CF3  Violations are named by their trace files, which stand in the same folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/base/result.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"

namespace heddle::detail {

struct CampaignFile {
    struct Order {
        std::string name;    ///< "faithful", "any"
        sim::Report report;  ///< without violations and without `seen`
        std::uint64_t deaths = 0;
        bool over = false;        ///< nothing of it is left
        std::uint64_t parts = 0;  ///< of a sampler: seeds that were used
        std::optional<sim::LeaseBook::Snapshot> book{};
    };
    struct Violation {
        std::string invariant;
        std::string message;
        std::string mode;
        std::string trace;  ///< file's name
    };

    std::map<std::string, std::string> search;  ///< everything that decides what is run
    sim::Part shard{};
    std::vector<Order> orders;
    std::vector<Violation> violations;
    bool has_seen = false;

    [[nodiscard]] Order* order(const std::string& name);
};

[[nodiscard]] std::string to_json(const CampaignFile& file);
[[nodiscard]] Result<CampaignFile> campaign_from_json(const std::string& text, const std::string& where);

/// The first difference of what two files search, in words; empty if there is none.
[[nodiscard]] std::string difference(const std::map<std::string, std::string>& expected,
                                     const std::map<std::string, std::string>& found);

/// Hashes as a file. Ascending, each once.
[[nodiscard]] std::string seen_to_bytes(const std::vector<std::uint64_t>& seen);
[[nodiscard]] Result<std::vector<std::uint64_t>> seen_from_bytes(const std::string& bytes, const std::string& where);

}  // namespace heddle::detail
