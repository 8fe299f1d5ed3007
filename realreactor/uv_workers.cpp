// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_workers.hpp"

#include <uv.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "heddle/core/base/error.hpp"

namespace heddle::real {

class UvWorkers::Thread final : public WorkerThread {
public:
    explicit Thread(std::shared_ptr<WorkerCode> code) : thread_([this, code = std::move(code)] { run(*code); }) {}
    ~Thread() override { thread_.join(); }

    void point(const char*) override {}
    void park() override {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return token_; });
        token_ = false;
    }
    void unpark() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        token_ = true;
        changed_.notify_one();
    }
    [[nodiscard]] bool fails(const char*) override { return false; }
    [[nodiscard]] bool observed() const override { return false; }
    void touch(Cell, TouchMode) override {}

    /// It has left its code: to join it takes no time.
    [[nodiscard]] bool has_left() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return left_;
    }

private:
    void run(WorkerCode& code) {
        struct Leave {  // also by the unwinding of pthread_exit
            Thread& thread;
            ~Leave() {
                const std::lock_guard<std::mutex> lock(thread.mutex_);
                thread.left_ = true;
            }
        } const leave{*this};
        code.run(*this);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool token_ = false;
    bool left_ = false;
    std::thread thread_;  // last: it uses the others from its first moment on
};

UvWorkers::UvWorkers() = default;
UvWorkers::~UvWorkers() { shut_down(); }

void UvWorkers::start(std::shared_ptr<WorkerCode> code, std::size_t count) {
    reap();
    Group group{count > 0 ? code : nullptr, code, {}};
    group.threads.reserve(count);
    try {
        for (std::size_t i = 0; i < count; ++i) { group.threads.push_back(std::make_unique<Thread>(code)); }
    } catch (const std::system_error& error) {
        code->end();
        group.threads.clear();  // waits for those that had begun
        throw AsyncError(std::string("the system gives no thread: ") + error.what());
    }
    groups_.push_back(std::move(group));
}

/// Groups whose threads have all left, and those that had none and of which nobody wants to hear any more.
void UvWorkers::reap() {
    std::erase_if(groups_, [](Group& group) {
        if (group.threads.empty()) { return group.code.expired(); }
        if (!std::ranges::all_of(group.threads, [](const auto& thread) { return thread->has_left(); })) { return false; }
        group.threads.clear();
        group.kept = nullptr;
        return group.code.expired();
    });
}

void UvWorkers::shut_down() {
    std::vector<Group> groups = std::move(groups_);
    groups_.clear();
    for (const Group& group : groups) {
        if (const auto code = group.code.lock(); code != nullptr) { code->end(); }
    }
    for (Group& group : groups) {
        const std::shared_ptr<WorkerCode> code = group.code.lock();
        group.threads.clear();
        if (code != nullptr) { code->over(); }
    }
}

std::size_t UvWorkers::parallelism() {
    std::size_t count = uv_available_parallelism();
    // The quota of a control group (version 2): "max 100000" or "150000 100000", in microseconds of each period.
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    long long quota = 0;
    long long period = 0;
    if (file >> quota >> period && quota > 0 && period > 0) {
        count = std::min(count, static_cast<std::size_t>(std::max(1LL, quota / period)));
    }
    return std::max<std::size_t>(count, 1);
}

}  // namespace heddle::real
