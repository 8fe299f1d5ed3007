// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/future_state.hpp"

#include "heddle/core/run/scheduler.hpp"

namespace heddle {
namespace {

std::string place(SourceLocation at) { return std::string(at.file_name()) + ":" + std::to_string(at.line()); }

}  // namespace

FutureCore::FutureCore(Scheduler& scheduler, std::string_view name, SourceLocation at)
    : EventSource(scheduler), label_(scheduler.object_label(name)), created_(at), settled_(at) {}

std::string FutureCore::created_at() const { return place(created_); }
std::string FutureCore::settled_at() const { return place(settled_); }
std::string FutureCore::describe() const { return "future of " + created_at(); }

void FutureCore::touch_looked() const { scheduler().touch(label_, "state", TouchMode::read); }

bool FutureCore::replay(Outcome& outcome) const {
    if (!is_closed()) { return false; }
    outcome = {0, !error_, error_};
    return true;
}

void FutureCore::refuse_settled(const char* operation) const {
    touch_looked();
    throw AsyncError(std::string(operation) + ": the future was settled before, at " + settled_at());
}

bool FutureCore::finish(ErrorValue error, SourceLocation at) {
    if (is_closed()) {
        touch_looked();
        return false;
    }
    const Ref<FutureCore> alive(this);
    scheduler().touch(label_, "state", TouchMode::write);
    error_ = std::move(error);
    settled_ = at;
    notify_and_close({0, !error_, error_});  // FUT-14: awaiters first, in the order in which they came
    const std::shared_ptr<FutureSource> source = std::move(source_);
    const std::vector<Ref<Derivation>> children = std::move(children_);
    children_.clear();
    if (source != nullptr && !children.empty()) { source->unwanted(); }
    for (const Ref<Derivation>& child : children) { start(child); }  // FUT-12
    if (consumers_ == 0) { report_if_unhandled(); }
    return true;
}

void FutureCore::finish_like(const FutureCore& source, SourceLocation at) {
    exempt_ = exempt_ || source.exempt_;
    finish(source.error_, at);
}

bool FutureCore::cancel(const ErrorValue& reason, SourceLocation at) {
    if (reason && !reason.is_cancellation()) { throw ValueError("cancel: the reason is not a cancellation"); }
    if (is_closed()) {
        touch_looked();
        return false;
    }
    const Ref<FutureCore> alive(this);
    release_source();
    handled_ = true;  // whoever cancels it knows
    return finish(reason ? reason : ErrorValue::make<AsyncCancellation>("the future was cancelled"), at);
}

void FutureCore::attach(Ref<Derivation> derivation) {
    derivation->child->derived_ = true;
    mark_used();
    handled_ = true;  // its error reaches the child, and is the child's from then on (FUT-21)
    touch_looked();
    scheduler().touch(label_, "children", TouchMode::write);
    if (is_closed()) {
        start(derivation);
    } else {
        children_.push_back(std::move(derivation));
        if (children_.size() == 1 && source_ != nullptr) { source_->wanted(); }
    }
}

void FutureCore::set_source(std::shared_ptr<FutureSource> source) {
    HEDDLE_ASSERT(!is_closed() && source_ == nullptr, "FS5");
    source_ = std::move(source);
    if (loop_refs() > 0) { source_->wanted(); }
    if (!children_.empty()) { source_->wanted(); }
}

void FutureCore::move_away(std::shared_ptr<FutureSource> to) {
    require_settler("move_away");
    moved_ = true;
    set_source(std::move(to));
}

void FutureCore::require_settler(const char* operation) const {
    if (moved_) { throw AsyncError(std::string(operation) + ": the right to settle this future was moved to another thread"); }
}

void FutureCore::start(const Ref<Derivation>& derivation) {
    FutureCore& child = *derivation->child;
    if (child.is_settled()) { return; }  // FUT-15
    struct Body {
        Ref<Derivation> derivation;
        Ref<FutureCore> source;
        void operator()() { derivation->run(*source); }
    };
    try {
        auto* coroutine = new detail::CoroutineFrame<Body, void>(scheduler(), Body{derivation, Ref<FutureCore>(this)});
        const Ref<CoroutineCore> alive(coroutine);
        // Cancelled before it ran, or unwound: nobody stays waiting for what it would have settled (FUT-16).
        coroutine->set_dispose_hook([kept = Ref<FutureCore>(&child)](CoroutineCore& ended) {
            if (kept->is_settled()) { return; }
            kept->finish(ended.error() ? ended.error() : ErrorValue::make<AsyncCancellation>("the callback of the future did not end"),
                         SourceLocation::current());
        });
        SpawnOptions options;
        options.name = Name::of(derivation->name);
        options.scope = ScopeRef(derivation->scope.get());
        scheduler().spawn(*coroutine, options, derivation->at, true);
    } catch (...) {
        // The scope takes no coroutines (SCP-12), or the run is over: never the settling call's error.
        child.finish(ErrorValue(std::make_exception_ptr(AsyncCancellation("the callback of the future could not start",
                                                                          ErrorValue(std::current_exception())))),
                     derivation->at);
    }
}

void FutureCore::add_consumer() {
    ++consumers_;
    add_reference();
}

void FutureCore::drop_consumer() {
    HEDDLE_ASSERT(consumers_ > 0, "FS4");
    const Ref<FutureCore> alive(this);
    scheduler().touch(label_, "state", TouchMode::write);  // the last of them ends something, and none knows that it is not
    if (--consumers_ == 0) {
        if (!is_used() && !ignored_) { scheduler().report({"a future was dropped unused, created at " + created_at()}); }  // FUT-20
        if (!is_closed()) {
            if (children_.empty()) { release_source(); }  // FUT-09, FUT-17
        } else {
            report_if_unhandled();
            if (error_ ? !handled_ : !obtained_) { give_back(); }
        }
    }
    drop_reference();
}

void FutureCore::add_producer() {
    ++producers_;
    add_reference();
}

void FutureCore::drop_producer() {
    HEDDLE_ASSERT(producers_ > 0, "FS4");
    const Ref<FutureCore> alive(this);
    if (--producers_ == 0 && !is_closed() && !moved_) {
        exempt_ = true;
        finish(ErrorValue::make<BrokenPromise>(), created_);
    }
    drop_reference();
}

void FutureCore::report_if_unhandled() {
    if (!error_ || handled_ || ignored_ || exempt_ || reported_) { return; }
    reported_ = true;
    scheduler().report({"a future of " + created_at() + " failed, and nobody took its error", error_});
}

}  // namespace heddle
