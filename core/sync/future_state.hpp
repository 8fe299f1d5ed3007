// SPDX-License-Identifier: Apache-2.0
// FutureCore: the untyped half of a future: one outcome, who is told of it, and what becomes of it (docs/spec/12-future-await.md, 12.1 to 12.3).
//
//                 settle: the value is stored, or an error ──▶ awaiters are woken, in order ──▶ a coroutine per derived future, in order
//   pending ──┤
//                 last producer goes ──▶ BrokenPromise         last consumer goes, nothing derived ──▶ the source behind it is released
//
//   settled ── last consumer goes ──▶ error that nobody took: the error sink, once (FUT-22)
//                                └──▶ value that nobody obtained: given back to its source (FUT-25)
//
// FS1  It leaves pending once, and its outcome never changes (INV-FUT-01).
// FS2  Settling runs no user code and never suspends (INV-FUT-04); a derived callback runs in a coroutine of its own, at most once.
// FS3  No derived future stays pending behind a settled source unless its callback is running (INV-FUT-06): whatever keeps the callback
//      from running rejects it.
// FS4  Handles, waits and derived futures share the state; the last of them frees it (CV-16).
// FS5  A source is set once, and dropped when the future is settled. It hears of waiters and of the first derived future (THR-16, RFU-06).
// Cells: `state` (settling, the last handle: W; waiting, looking: R), `children` (attaching: W).
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/scope.hpp"

namespace heddle {

/// The last FutureState of a pending future is gone: nobody can settle it any more (FUT-08).
class BrokenPromise : public Error {
public:
    BrokenPromise() : Error("the promise was broken: nobody can complete this future any more") {}
};

class FutureCore;

/// What settles a future from outside of its runtime, and wants to know who still waits for that. Kept by a pending future.
class FutureSource {
public:
    virtual ~FutureSource() = default;
    /// Somebody waits for it, or derived from it: the loop must not end before it is settled. Balanced by `unwanted`.
    virtual void wanted() = 0;
    virtual void unwanted() noexcept = 0;
    /// It is being cancelled, or its last consumer has gone and nothing is derived (FUT-09).
    virtual void released(FutureCore& future) = 0;
};

/// A future that comes from another one, and the callback between them.
class Derivation {
public:
    virtual ~Derivation() = default;
    /// In a coroutine of the scope of the attachment: runs the callback and settles the child, error or not. Throws a cancellation
    /// behind that, and the token of terminal unwinding.
    virtual void run(FutureCore& source) = 0;

    Ref<FutureCore> child;
    Ref<ScopeCore> scope;     // FUT-11
    const char* name = "then";
    SourceLocation at;

    void add_reference() { ++references_; }
    void drop_reference() {
        if (--references_ == 0) { delete this; }
    }

private:
    std::uint32_t references_ = 0;
};

class FutureCore : public EventSource {
public:
    FutureCore(Scheduler& scheduler, std::string_view name, SourceLocation at);

    [[nodiscard]] bool is_settled() const { return is_closed(); }
    [[nodiscard]] bool is_rejected() const { return is_closed() && static_cast<bool>(error_); }
    [[nodiscard]] const ErrorValue& error() const { return error_; }
    void touch_looked() const;

    /// The value has been stored (empty `error`), or not. @returns false, and nothing happens, if it was settled before
    bool finish(ErrorValue error, SourceLocation at);
    /// The same error as that of the source that it comes from, which may be one that is never reported.
    void finish_like(const FutureCore& source, SourceLocation at);
    /// FUT-04. @param reason of the Cancellation family, else ValueError; empty: AsyncCancellation
    bool cancel(const ErrorValue& reason, SourceLocation at);
    /// FUT-03: throws AsyncError that says where it was settled.
    [[noreturn]] void refuse_settled(const char* operation) const;

    void attach(Ref<Derivation> derivation);
    void ignore() { ignored_ = true; }
    [[nodiscard]] bool is_ignored() const { return ignored_; }
    /// Another object reports its error, or it only says "closed" (FUT-22).
    void never_report() { exempt_ = true; }

    void add_consumer();
    void drop_consumer();
    void add_producer();
    void drop_producer();
    [[nodiscard]] std::uint32_t consumer_count() const { return consumers_; }
    [[nodiscard]] std::uint32_t producer_count() const { return producers_; }
    /// Something inside the runtime will settle it: a channel, a group (INV-FUT-09).
    [[nodiscard]] virtual bool has_source() const { return derived_ || source_ != nullptr; }
    /// Requires: pending, and without a source.
    void set_source(std::shared_ptr<FutureSource> source);
    [[nodiscard]] const std::shared_ptr<FutureSource>& source() const { return source_; }
    /// The right to settle goes to this source; handles here have it no more (RFU-01).
    void move_away(std::shared_ptr<FutureSource> to);
    /// Throws AsyncError if the right to settle was moved away.
    void require_settler(const char* operation) const;
    [[nodiscard]] std::size_t child_count() const { return children_.size(); }

    void on_awaited() override {
        touch_looked();
        handled_ = true;
    }
    void on_obtained() override { obtained_ = true; }
    [[nodiscard]] bool is_obtained() const { return obtained_; }

    [[nodiscard]] bool replay(Outcome& outcome) const override;
    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] Label label() const override { return label_; }
    /// "file:line" of creation and of settling, for messages (FUT-07).
    [[nodiscard]] std::string created_at() const;
    [[nodiscard]] std::string settled_at() const;

protected:
    ~FutureCore() override = default;
    /// The source behind a pending one need not settle it any more (FUT-09).
    virtual void release_source() {
        if (const std::shared_ptr<FutureSource> source = source_; source != nullptr) { source->released(*this); }
    }
    /// Nobody obtained its value, or took its error, and the last handle is gone (CHAN-47, SET-09). Must not suspend.
    virtual void give_back() {}
    void dispose() override {
        drop_callbacks();
        delete this;
    }

private:
    void on_first_start() override {
        if (source_ != nullptr) { source_->wanted(); }
    }
    void on_last_stop() noexcept override {
        if (source_ != nullptr) { source_->unwanted(); }
    }
    void start(const Ref<Derivation>& derivation);
    void report_if_unhandled();

    Label label_;
    ErrorValue error_;
    std::vector<Ref<Derivation>> children_;
    std::shared_ptr<FutureSource> source_;  // while pending
    SourceLocation created_;
    SourceLocation settled_;
    std::uint32_t consumers_ = 0;
    std::uint32_t producers_ = 0;
    bool handled_ = false;
    bool obtained_ = false;
    bool ignored_ = false;
    bool exempt_ = false;
    bool reported_ = false;
    bool derived_ = false;
    bool moved_ = false;
};

}  // namespace heddle
