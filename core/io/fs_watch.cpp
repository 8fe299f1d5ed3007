// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/fs_watch.hpp"

#include <deque>
#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {

class FsWatch::State final : private SourceOwner {
public:
    State(Scheduler& scheduler, std::string_view path, bool recursive) : scheduler_(scheduler), path_(path) {
        const Operation operation{.kind = OperationKind::watch, .amount = recursive ? 1 : 0, .target = path};
        const Submission submission =
            scheduler.reactor().submit(operation, {this, scheduler.object_label("watch"), false});
        if (submission.done.error != 0) { fail(submission.done.error); }
        source_ = submission.request;
    }
    ~State() {
        if (source_) { scheduler_.reactor().close(source_); }
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    FsChange next(const IoOptions& options, SourceLocation at) {
        while (changes_.empty()) {
            if (error_ != 0) { fail(error_); }
            if (bell_) { throw AsyncError("somebody waits for this watch already"); }
            struct Waiting {
                Ref<OneShotEvent>& bell;
                ~Waiting() { bell.reset(); }
            } const waiting{bell_};
            bell_ = OneShotEvent::make(scheduler_, "watch");
            detail::wait_for(*bell_, "watch", options, at);
        }
        FsChange change = std::move(changes_.front());
        changes_.pop_front();
        return change;
    }

private:
    [[noreturn]] void fail(int code) const {
        throw OperationError(OperationKind::watch, HandleKind::none, -1, path_, code);
    }

    void on_delivery(const Delivery& delivery) override {
        const Completion& completion = *delivery.completion;
        if (!completion.more) { source_ = {}; }
        if (completion.error != 0) {
            error_ = completion.error;
        } else {
            changes_.push_back({static_cast<std::uint32_t>(completion.transferred), completion.answer->host});
        }
        if (bell_) { bell_->complete(); }
    }

    Scheduler& scheduler_;
    std::string path_;
    SourceId source_{};
    int error_ = 0;
    std::deque<FsChange> changes_;
    Ref<OneShotEvent> bell_{};
};

FsWatch::FsWatch(std::string_view path, const FsWatchOptions& options)
    : state_(std::make_unique<State>(current_runtime("FsWatch").scheduler(), path, options.recursive)) {}
FsWatch::FsWatch(FsWatch&&) noexcept = default;
FsWatch& FsWatch::operator=(FsWatch&&) noexcept = default;
FsWatch::~FsWatch() = default;

FsChange FsWatch::next(const IoOptions& options, SourceLocation at) { return state_->next(options, at); }

}  // namespace heddle
