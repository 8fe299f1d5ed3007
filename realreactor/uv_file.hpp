// SPDX-License-Identifier: Apache-2.0
// UvFiles: files, on libuv's worker threads (RCT-40, RCT-44, RCT-46).
//
//   read at an offset ───────────────────────────▶ pool, any number at once
//   everything else ─▶ queue of the file, FIFO ─▶ pool, one at a time ─▶ completion ─▶ the next
//
// F1  A worker only ever touches the request's own memory: reads come into it and are copied when they are over and
//     still wanted, writes go from it (RCT-45).
// F2  The descriptor stays open until the last worker that uses it is done, whatever closes the handle (RCT-46).
// F3  A write goes on until everything is written. One that nobody waits for any more ends with the part that is being
//     written.
#pragma once

#include <list>
#include <memory>

#include "heddle/realreactor/detail/uv_work.hpp"

namespace heddle::real::detail {

class UvFiles {
public:
    UvFiles(UvHost& host, UvWorks& works) : host_(host), works_(works) {}

    /// Throws: IoError.
    HandleId adopt(int descriptor);
    Submission open(const Operation& operation, const SourceOptions& options);
    /// Of a path.
    Submission stat(const Operation& operation, const SourceOptions& options);

private:
    class OpenWork;
    class PathWork;
    UvHost& host_;
    UvWorks& works_;
};

class UvFile final : public UvHandle {
public:
    UvFile(UvHost& host, UvWorks& works, int fd);

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] int descriptor() const override { return state_->fd; }
    [[nodiscard]] HandleInfo info() const override { return {.kind = kind, .descriptor = state_->fd}; }
    void close() override;

private:
    class Work;

    /// What outlives the handle while workers are busy with it.
    struct State {
        explicit State(int descriptor);
        ~State();
        State(const State&) = delete;
        State& operator=(const State&) = delete;
        int fd;
        std::list<std::unique_ptr<Work>> waiting;  // their turn has not come
        std::list<Work*> busy;                     // with a worker
        bool in_turn = false;                      // one of those whose order counts is with a worker
        std::unique_ptr<Work> closer;              // waits for the busy ones
    };
    static void begin(const std::shared_ptr<State>& state, std::unique_ptr<Work> work);
    static Completion seek(const State& state, const Work& work);
    static void next(const std::shared_ptr<State>& state);

    UvWorks& works_;
    std::shared_ptr<State> state_;
};

}  // namespace heddle::real::detail
