// SPDX-License-Identifier: Apache-2.0
// CampaignStore: the file that a search keeps up to date, in a folder that it has for itself.
//
//   --resume DIR    DIR/campaign.json: made, or gone on from
//   --shard i/n     OUT/shard-i-of-n.json: what `simrun merge OUT` adds up
//
// CT1  One search at a time has a folder: a lock that dies with its process. Another search's folder is refused.
// CT2  Between two writes the folder holds the search as it was at the first of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/tools/simrun/detail/campaign_file.hpp"

namespace heddle::detail {

class CampaignStore {
public:
    /// @param name  of the file in `folder`. Throws: UnusableInput for a folder in use, of another search, or damaged.
    CampaignStore(std::string folder, std::string name, std::map<std::string, std::string> search, sim::Part shard);
    CampaignStore(const CampaignStore&) = delete;
    CampaignStore& operator=(const CampaignStore&) = delete;
    ~CampaignStore();

    [[nodiscard]] CampaignFile& file() { return file_; }
    [[nodiscard]] std::vector<std::uint64_t>& seen() { return seen_; }
    [[nodiscard]] bool is_resumed() const { return resumed_; }
    /// Where it is, for messages.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Writes it. @returns why not, or an empty text
    [[nodiscard]] std::string write();

private:
    std::string path_;
    int lock_ = -1;
    CampaignFile file_;
    std::vector<std::uint64_t> seen_;
    bool resumed_ = false;
};

/// "x.json" gives "x.seen".
[[nodiscard]] std::string seen_path(const std::string& path);

/// Reads a campaign file with what stands beside it. Throws: UnusableInput.
[[nodiscard]] CampaignFile read_campaign(const std::string& path, std::vector<std::uint64_t>& seen);

}  // namespace heddle::detail
