// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_fs_watch.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

bool is_directory(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Names in a directory, sorted; none if it is gone.
std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    DIR* const directory = ::opendir(path.c_str());
    if (directory == nullptr) { return names; }
    while (const dirent* const entry = ::readdir(directory)) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") { names.push_back(name); }
    }
    ::closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
}

std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? name : name.empty() ? path : path + "/" + name;
}

}  // namespace

class Watch final : public UvRequest {
public:
    Watch(UvWatches& watches, std::string target, bool recursive)
        : watches_(watches), target_(std::move(target)), recursive_(recursive) {}

    bool on_abandoned() override {
        close_all();
        id = {};
        watches_.watches_.erase(this);  // *this is gone
        return true;
    }
    void on_cancel() override {
        close_all();
        watches_.host_.requests->defer_cancelled(*this);
        watches_.watches_.erase(this);
    }

    /// @returns 0 or a status of libuv
    int add(const std::string& path) {
        auto directory = std::make_unique<UvWatches::Directory>();
        directory->host = &watches_.host_;
        directory->watch = this;
        directory->path = path;
        uv_fs_event_init(watches_.host_.loop->raw(), &directory->handle);
        directory->handle.data = directory.get();
        const int status = uv_fs_event_start(
            &directory->handle,
            [](uv_fs_event_t* handle, const char* name, int events, int result) {
                const auto* const at = static_cast<UvWatches::Directory*>(handle->data);
                if (at->watch != nullptr) {
                    at->watch->on_change(at->path, name != nullptr ? name : "", events, result);
                }
            },
            join(target_, path).c_str(), 0);
        if (status != 0) {
            close(*directory.release());
            return status;
        }
        directories_[path] = directory.release();
        return 0;
    }

    /// Watches what is below a directory that is watched already. @param tell  also reports it (W1)
    /// @returns false if whom it told has closed it: *this is gone
    bool add_below(const std::string& path, bool tell) {
        for (const std::string& name : names_in(join(target_, path))) {
            const std::string found = join(path, name);
            if (tell && !report(found, change_name)) { return false; }
            if (!is_directory(join(target_, found)) || directories_.contains(found)) { continue; }
            if (add(found) == 0 && !add_below(found, tell)) { return false; }
        }
        return true;
    }

private:
    void on_change(std::string path, const std::string& name, int events, int result) {
        if (result < 0) {
            close_all();
            const std::unique_ptr<UvRequest> kept = std::move(watches_.watches_.at(this));
            watches_.watches_.erase(this);
            watches_.host_.requests->finish(*this, {.transferred = -1, .error = errno_of(result)});
            return;
        }
        path = join(path, name);
        const std::uint32_t bits =
            ((events & UV_CHANGE) != 0 ? change_content : 0U) | ((events & UV_RENAME) != 0 ? change_name : 0U);
        if (!report(path, bits) || !recursive_ || (bits & change_name) == 0 || name.empty()) { return; }
        if (!is_directory(join(target_, path))) {
            forget(path);
        } else if (!directories_.contains(path) && add(path) == 0) {
            add_below(path, true);
        }
    }

    /// @returns false if that closed it: *this is gone
    bool report(const std::string& path, std::uint32_t bits) {
        UvHost& host = watches_.host_;
        const SourceId own = id;
        Answer& answer = host.requests->scratch();
        answer.host = path;
        host.requests->report(*this, {.transferred = bits, .more = true, .answer = &answer});
        return host.sources.find(own) != nullptr;
    }

    /// A directory went, with all that was below it.
    void forget(const std::string& path) {
        for (auto at = directories_.lower_bound(path); at != directories_.end() && at->first.starts_with(path);) {
            if (at->first != path && at->first[path.size()] != '/') {
                ++at;
                continue;
            }
            close(*at->second);
            at = directories_.erase(at);
        }
    }

    void close_all() {
        for (const auto& [path, directory] : directories_) { close(*directory); }
        directories_.clear();
    }

    static void close(UvWatches::Directory& directory) {
        directory.watch = nullptr;
        ++directory.host->closing_count;
        uv_close(reinterpret_cast<uv_handle_t*>(&directory.handle), [](uv_handle_t* handle) {
            const std::unique_ptr<UvWatches::Directory> closed(static_cast<UvWatches::Directory*>(handle->data));
            --closed->host->closing_count;
        });
    }

    UvWatches& watches_;
    std::string target_;
    bool recursive_;
    std::map<std::string, UvWatches::Directory*> directories_;
};

UvWatches::~UvWatches() { HEDDLE_ASSERT(watches_.empty(), "watches are closed before their reactor goes"); }

Submission UvWatches::watch(const Operation& operation, const SourceOptions& options) {
    if (operation.target.empty() || operation.target.find('\0') != std::string_view::npos) {
        return {.done = {.transferred = -1, .error = ENOENT}};
    }
    const bool recursive = operation.amount != 0;
    auto watch = std::make_unique<Watch>(*this, std::string(operation.target), recursive);
    if (const int status = watch->add(""); status != 0) {
        return {.done = {.transferred = -1, .error = errno_of(status)}};
    }
    const SourceId id = host_.requests->open(*watch, options);
    if (recursive) { watch->add_below("", false); }
    const UvRequest* const key = watch.get();
    watches_.emplace(key, std::move(watch));
    return {.request = id};
}

}  // namespace heddle::real::detail
