// SPDX-License-Identifier: Apache-2.0
// The folder of a search: its lock, its file, and what is refused.
#include "heddle/tools/simrun/detail/campaign_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/trace_file.hpp"

namespace heddle::detail {
namespace {

constexpr std::uint64_t file_bytes_max = std::uint64_t{1} << 32;

std::string below(const std::string& folder, const std::string& name) {
    return folder.empty() || folder == "." ? name : folder.ends_with('/') ? folder + name : folder + "/" + name;
}

}  // namespace

std::string seen_path(const std::string& path) {
    return (path.ends_with(".json") ? path.substr(0, path.size() - 5) : path) + ".seen";
}

CampaignFile read_campaign(const std::string& path, std::vector<std::uint64_t>& seen) {
    const Result<std::string> text = trace::read_whole_file(path, file_bytes_max);
    if (!text) { throw UnusableInput{text.error()}; }
    Result<CampaignFile> file = campaign_from_json(*text, path);
    if (!file) { throw UnusableInput{file.error()}; }
    seen.clear();
    if (file->has_seen) {
        const Result<std::string> bytes = trace::read_whole_file(seen_path(path), file_bytes_max);
        if (!bytes) { throw UnusableInput{bytes.error()}; }
        Result<std::vector<std::uint64_t>> hashes = seen_from_bytes(*bytes, seen_path(path));
        if (!hashes) { throw UnusableInput{hashes.error()}; }
        seen = *std::move(hashes);
    }
    return *std::move(file);
}

CampaignStore::CampaignStore(std::string folder, std::string name, std::map<std::string, std::string> search,
                             sim::Part shard)
    : path_(below(folder, name)) {
    const std::string lock_path = below(folder, "." + name + ".lock");
    lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) { refuse(lock_path, "a folder that can be written to", std::generic_category().message(errno)); }
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        const int error = errno;
        ::close(lock_);
        lock_ = -1;
        if (error == EWOULDBLOCK) { refuse(path_, "a search that nobody is running", "another simrun at work on it"); }
        refuse(lock_path, "a file that can be locked", std::generic_category().message(error));
    }
    try {
        if (::access(path_.c_str(), F_OK) == 0) {
            file_ = read_campaign(path_, seen_);
            const std::string other = difference(search, file_.search);
            if (!other.empty()) { refuse(path_, "a search with these options", "another one, whose " + other); }
            if (file_.shard.index != shard.index || file_.shard.count != shard.count) {
                refuse(path_, "the shard " + std::to_string(shard.index) + "/" + std::to_string(shard.count),
                       std::to_string(file_.shard.index) + "/" + std::to_string(file_.shard.count));
            }
            resumed_ = true;
        }
    } catch (...) {
        ::close(lock_);
        throw;
    }
    file_.search = std::move(search);
    file_.shard = shard;
}

CampaignStore::~CampaignStore() {
    if (lock_ >= 0) { ::close(lock_); }
}

std::string CampaignStore::write() {
    // The hashes first: a file that says there are some is written when they are there.
    if (file_.has_seen) {
        const Result<std::uint64_t> written =
            trace::write_whole_file(seen_path(path_), seen_to_bytes(seen_), trace::Overwrite::yes);
        if (!written) { return written.error().text(); }
    }
    const Result<std::uint64_t> written = trace::write_whole_file(path_, to_json(file_), trace::Overwrite::yes);
    return written ? "" : written.error().text();
}

}  // namespace heddle::detail
