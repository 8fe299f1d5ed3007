// SPDX-License-Identifier: Apache-2.0
// WorkPool: threads that run what would block a runtime, and futures for what comes of it (docs/spec/15-threads.md).
//
//   heddle::WorkPool pool{{.workers = 2}};
//   auto digest = pool.submit([bytes = std::move(bytes)] { return sha256(bytes); });    // suspends while the queue is full
//   use(digest.await());                                                              // digest.cancel() asks it to stop
//   auto sizes = pool.map(files, [](const File& file) { return measure(file); });       // in the order of the files
//
// A job runs on one thread, at most once. It owns what it uses, and must not touch the runtime: no spawn, no await, no primitive but
// ThreadChannel, RemoteState and its StopToken; the ambient functions throw there. In a simulated world its threads are sequences of
// steps, which the explorer interleaves with everything else.
// Dropping the pool cancels it; its threads leave when their jobs end, at the latest the runtime waits for them when it ends (THR-15).
// Choice points: those of the threads (WorkerThread). Books and cells: work_pool_state.hpp, work_queue.hpp.
#pragma once

#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/bridge/stop_token.hpp"
#include "heddle/core/bridge/work_pool_state.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/combine.hpp"
#include "heddle/core/sync/future.hpp"

namespace heddle {

namespace detail {

/// A job with its outcome.
template <class F, class T>
class BodyJob final : public WorkJob {
public:
    using Stored = typename FutureCoreOf<T>::Stored;
    explicit BodyJob(F&& body) : body_(std::move(body)) {}
    explicit BodyJob(const F& body) : body_(body) {}

    void run(const StopToken& stop) override {
        try {
            if constexpr (std::is_void_v<T>) {
                call(stop);
                value_.emplace();
            } else {
                value_.emplace(call(stop));
            }
        } catch (...) {
            keep_error();
        }
        body_.reset();
    }
    void drop() noexcept override { body_.reset(); }
    void deliver(FutureCore& future) override {
        auto& to = static_cast<FutureCoreOf<T>&>(future);
        if constexpr (std::is_void_v<T>) {
            to.complete(SourceLocation::current());
        } else {
            to.complete(SourceLocation::current(), std::move(*value_));
        }
    }

private:
    decltype(auto) call(const StopToken& stop) {
        if constexpr (std::is_invocable_v<F&, const StopToken&>) {
            return (*body_)(stop);
        } else {
            static_cast<void>(stop);
            return (*body_)();
        }
    }

    std::optional<F> body_;
    std::optional<Stored> value_;
};

template <class F>
struct JobResult {
    using type = std::invoke_result_t<F&>;
};
template <class F>
    requires std::is_invocable_v<F&, const StopToken&>
struct JobResult<F> {
    using type = std::invoke_result_t<F&, const StopToken&>;
};

}  // namespace detail

/// What a job may be: called with a StopToken or with nothing.
template <class F>
concept Job = std::is_invocable_v<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&, const StopToken&>;

class WorkPool {
public:
    using Options = WorkPoolOptions;
    template <class F>
    using Result = typename detail::JobResult<std::decay_t<F>>::type;

    /// In the current runtime. Throws: ValueError for negative numbers; AsyncError outside a run, and if the reactor has no threads to
    /// offer or the system gives none.
    explicit WorkPool(Options options) : WorkPool(current_runtime("work pool"), std::move(options)) {}
    WorkPool() : WorkPool(Options{}) {}
    WorkPool(Runtime& runtime, Options options) : state_(WorkPoolState::make(runtime, std::move(options))) {}
    WorkPool(const WorkPool&) = delete;
    WorkPool& operator=(const WorkPool&) = delete;
    /// Cancels (THR-15); neither suspends nor waits.
    ~WorkPool() { state_->abandon(); }

    /// Gives a job to the threads: `f` is moved or copied in, and called once with or without a StopToken. What it returns or throws is
    /// the future's. Dropping the future unused lets the job run on (`ignore` says that this is meant); dropping one that somebody
    /// awaited, or cancelling it, asks it to stop.
    /// Throws, and no job is left behind: WorkPoolError if the pool takes none; what its init threw; a token's OperationCanceled; a
    /// cancellation. Suspends: while the queue is full, in order of arrival. Cost: three allocations.
    template <Job F>
    Future<Result<F>> submit(F&& f, const Token& token = {}, SourceLocation at = SourceLocation::current()) {
        state_->take_place(token.event(), at);
        return enqueue(std::forward<F>(f), at);
    }
    /// The same without waiting: empty if the queue is full, or somebody waits for a place.
    template <Job F>
    [[nodiscard]] std::optional<Future<Result<F>>> try_submit(F&& f, SourceLocation at = SourceLocation::current()) {
        if (!state_->try_take_place()) { return std::nullopt; }
        return enqueue(std::forward<F>(f), at);
    }

    /// f(item) for each, on the threads; `f` is shared by them, and called as const. Items are copied, or moved out of a range that is an
    /// rvalue. @returns the results in the order of the items (nothing for void)
    /// Throws: the first error in time, a cancellation of the caller: the rest of the batch is cancelled then. Suspends: yes.
    template <std::ranges::input_range Items, class F>
    auto map(Items&& items, F&& f, SourceLocation at = SourceLocation::current()) {
        using Item = std::ranges::range_value_t<Items>;
        using Function = std::decay_t<F>;
        using T = std::invoke_result_t<const Function&, Item>;
        const auto function = std::make_shared<const Function>(std::forward<F>(f));
        std::vector<Awaitable<T>> inputs;
        std::vector<Future<T>> futures;
        std::vector<std::size_t> open;  // of those, that have not been seen settled
        try {
            for (auto&& item : items) {
                using Reference = std::conditional_t<std::is_rvalue_reference_v<Items&&>, Item&&, const Item&>;
                Item own(static_cast<Reference>(item));
                futures.push_back(submit([function, own = std::move(own)]() mutable { return (*function)(std::move(own)); }, {}, at));
                inputs.emplace_back(futures.back());
                open.push_back(futures.size() - 1);
                std::erase_if(open, [&](std::size_t index) {
                    if (!futures[index].is_completed()) { return false; }
                    if (const ErrorValue error = futures[index].error(); error) { error.rethrow(); }  // no use in going on
                    return true;
                });
            }
            auto values = await_all_or_fail(inputs, {}, at);
            if constexpr (!std::is_void_v<T>) {
                std::vector<T> results;
                results.reserve(values.size());
                for (auto& [index, value] : values) { results.push_back(std::move(value)); }
                return results;
            }
        } catch (...) {
            for (const Future<T>& future : futures) {
                future.ignore();
                future.cancel({}, at);
            }
            throw;
        }
    }

    /// Takes no more jobs, fails whoever waits for a place; what was accepted is run, then the threads leave (THR-12). Idempotent.
    /// Suspends: no.
    void close() { state_->close(); }
    /// The same, but what waits in the queue is rejected with a cancellation and never runs, and what runs is asked to stop (THR-13).
    void cancel() { state_->cancel(); }
    /// Waits until no thread is left. Suspends: unless that is so. Throws: the token's OperationCanceled, a cancellation.
    void join(const Token& token = {}, SourceLocation at = SourceLocation::current()) { state_->join(token.event(), at); }

    /// Numbers of one moment; those who are about to see an outcome see it counted already (THR-07).
    [[nodiscard]] WorkStatistics statistics() const { return state_->statistics(); }
    [[nodiscard]] std::size_t workers() const { return state_->workers(); }
    [[nodiscard]] std::size_t queue_size() const { return state_->queue_size(); }
    /// Coroutines that wait for a place.
    [[nodiscard]] std::size_t waiting() const { return state_->waiting(); }
    [[nodiscard]] bool is_closed() const { return state_->is_closed(); }

private:
    template <class F>
    Future<Result<F>> enqueue(F&& f, SourceLocation at) {
        using T = Result<F>;
        static_assert(!std::is_reference_v<T>, "a job's result crosses threads: it is a value");
        WorkJobPtr job;
        Ref<detail::FutureCoreOf<T>> core;
        try {
            job = std::make_shared<detail::BodyJob<std::decay_t<F>, T>>(std::forward<F>(f));
            core = Ref<detail::FutureCoreOf<T>>(new detail::FutureCoreOf<T>(state_->scheduler(), "job", at));
        } catch (...) {
            state_->return_place();
            throw;
        }
        state_->enqueue(job, *core);
        return Future<T>(core.get());
    }

    Ref<WorkPoolState> state_;
};

}  // namespace heddle
