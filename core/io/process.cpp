// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/process.hpp"

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {

Process::Process(const ChildOptions& options) : scheduler_(&current_runtime("Process").scheduler()) {
    const Operation operation{.kind = OperationKind::execute, .child = &options};
    const detail::Performed performed = detail::perform(*scheduler_, operation, {}, SourceLocation::current());
    const std::string program = options.arguments.empty() ? std::string() : options.arguments.front();
    if (const int code = performed.completion.error; code != 0) {
        throw OperationError(OperationKind::execute, HandleKind::none, -1, program, code);
    }
    pid_ = static_cast<int>(performed.completion.transferred);
    PipeStream* const streams[3] = {&input_, &output_, &error_};
    for (int number = 0; number < 3; ++number) {
        const HandleId handle = performed.answer->handles[number];
        if (handle) { *streams[number] = PipeStream(*scheduler_, HandleKind::pipe, handle); }
    }
    exit_ = ReactorEvent::process(*scheduler_, pid_);
}

Process::Process(Process&& other) noexcept
    : scheduler_(other.scheduler_),
      pid_(std::exchange(other.pid_, 0)),
      exit_(std::move(other.exit_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      error_(std::move(other.error_)) {}

Process& Process::operator=(Process&& other) noexcept {
    if (this == &other) { return *this; }
    let_go();
    scheduler_ = other.scheduler_;
    pid_ = std::exchange(other.pid_, 0);
    exit_ = std::move(other.exit_);
    input_ = std::move(other.input_);
    output_ = std::move(other.output_);
    error_ = std::move(other.error_);
    return *this;
}

Process::~Process() { let_go(); }

void Process::let_go() noexcept {
    if (pid_ == 0 || exit_->is_closed()) { return; }
    Reactor& reactor = scheduler_->reactor();
    if (!reactor.is_up()) { return; }
    try {
        kill(SIGTERM);
        // Nobody hears of its end, but the reactor waits for the child (C1). The source closes itself then.
        reactor.start(reactor.open_process(pid_, {.owner = nullptr, .label = {}, .hidden = true}));
    } catch (const Error&) {
        scheduler_->seen("process.not_terminated");  // it has become somebody else's: there is nothing to wait for
    }
}

int Process::wait(const IoOptions& options, SourceLocation at) {
    Outcome outcome;
    if (!exit_->replay(outcome)) {
        detail::wait_for(*exit_, "process", options, at);
        if (!exit_->replay(outcome)) { throw AsyncError("the end of the child was not reported"); }
    }
    if (outcome.error) { outcome.error.rethrow(); }
    return static_cast<int>(outcome.value);
}

void Process::kill(int signal) {
    if (pid_ == 0 || exit_->is_closed()) { return; }  // the number may be another process's by now
    const Operation operation{.kind = OperationKind::kill, .flags = static_cast<std::uint32_t>(signal), .amount = pid_};
    const Submission submission = scheduler_->reactor().submit(operation, {});
    if (submission.done.error != 0) {
        throw OperationError(OperationKind::kill, HandleKind::none, -1, "process " + std::to_string(pid_),
                             submission.done.error);
    }
}

CommandResult run_command(std::vector<std::string> arguments, const CommandOptions& options, SourceLocation at) {
    struct Running {  // shared: those who move its bytes may end after a caller that was cancelled
        Process child;
        std::string input;
        std::size_t size_max;
        CommandResult result{};
    };
    const auto running = std::make_shared<Running>(Running{Process({.arguments = std::move(arguments),
                                                                    .input = ChildStream::pipe,
                                                                    .output = ChildStream::pipe,
                                                                    .error = ChildStream::pipe}),
                                                           std::string(options.input), options.size_max});
    // Several coroutines, because a child may stop reading until somebody reads what it writes.
    const auto input = spawn("input", [running] {
        try {
            running->child.input().write(running->input);
        } catch (const OperationError&) {
            running->child.input().close();  // the child reads no more of it, which is its own affair
        }
        running->child.input().close();
    });
    const auto error =
        spawn("error", [running] { running->result.error = running->child.error().read_all(running->size_max); });
    const auto output =
        spawn("output", [running] { running->result.output = running->child.output().read_all(running->size_max); });
    const auto end = spawn("end", [running] { running->result.code = running->child.wait(); });

    std::optional<Timeout> timeout;
    if (options.timeout > Duration::zero()) { timeout.emplace(options.timeout); }
    EventSource* const inputs[] = {&input.core(), &error.core(), &output.core(), &end.core()};
    try {
        // The first error, or the timeout, ends the others, too.
        static_cast<void>(
            await_collect(inputs, {CollectMode::all_or_fail, 1, true}, timeout ? Token(*timeout) : Token(), at));
    } catch (const OperationCanceled&) {
        throw TimeoutError("run_command: the timeout expired");
    } catch (const Cancellation&) {
        for (const CoroutineHandle& handle :
             {CoroutineHandle(input), CoroutineHandle(error), CoroutineHandle(output), CoroutineHandle(end)}) {
            handle.cancel();
        }
        throw;
    }
    return std::move(running->result);
}

}  // namespace heddle
