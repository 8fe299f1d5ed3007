// SPDX-License-Identifier: Apache-2.0
// Children of a SimReactor: programs of the world that were executed (RCT-53, RCT-54). The end of a child and the ends of
// its pipes come in any order (CP-EXIT).
#include <cerrno>
#include <csignal>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/net/child_process.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

namespace heddle::sim::detail {

/// One child that runs. Its runs are deliveries to itself.
class SimIo::Child final : public SimHandle, private SourceOwner {
public:
    Child(SimIo& io, Machine& machine, const ChildOptions& options, std::unique_ptr<ChildProgram> program)
        : SimHandle(io, HandleKind::none, -1), process(machine, options.arguments), program_(std::move(program)) {
        process.watch(this);
    }
    ~Child() override {
        process.watch(nullptr);
        process.end(-SIGKILL);  // the world ends around it
    }

    ChildProcess process;
    RequestKey key = 0;
    int pid = 0;

    Submission submit(const Operation& operation, const SourceOptions&) override { refuse(operation); }
    [[nodiscard]] bool is_ready(RequestKey) const override { return is_due_; }
    void go_on(RequestKey request) override {
        is_due_ = false;
        const Label label = io_.label_of(request);
        io_.step(*this, label);
        settle();
    }
    bool forget(RequestKey) override { return true; }
    [[nodiscard]] HandleInfo info() const override { return {}; }
    void close() override {
        if (Request* const request = io_.find_request(key)) { request->handle = nullptr; }
    }
    void on_ready() override {
        is_due_ = true;
        io_.wake(key);
    }
    void signal(int number) {
        if (number == SIGKILL || !program_->on_signal(process, number)) { process.end(-number); }
        settle();
    }

private:
    void on_delivery(const Delivery&) override {
        static_cast<void>(process.take_alarm());
        if (!process.has_ended()) { program_->run(process); }
    }
    /// Tells of its end, if it has come; *this is gone then.
    void settle() {
        if (process.has_ended()) { io_.child_is_over(*this); }
    }

    std::unique_ptr<ChildProgram> program_;
    bool is_due_ = true;  // it is run once, whatever there is
};

void SimIo::step(SourceOwner& owner, Label label) {
    reactor_.deliver({.kind = SourceKind::none, .owner = &owner, .label = label}, {});
}

void SimIo::child_is_over(Child& child) {
    const int pid = child.pid;
    const int code = child.process.code();
    const RequestKey key = child.key;
    forget_handle(child.id);
    const SourceId source = source_of(key);
    requests_.remove(Slots<Request>::slot_of(key));
    reactor_.drop_source(source);
    reactor_.end_child(pid, code);
}

SimIo::Child* SimIo::child(std::int64_t pid) {
    for (std::uint32_t slot = 0; slot < handles_.end(); ++slot) {
        auto* const found = handles_.is_used(slot) ? dynamic_cast<Child*>(handles_[slot].get()) : nullptr;
        if (found != nullptr && found->pid == pid) { return found; }
    }
    return nullptr;
}

Submission SimIo::execute(const Operation& operation, const SourceOptions& options) {
    if (operation.child == nullptr || operation.child->arguments.empty()) {
        throw AsyncError("execute needs a program");
    }
    const ChildOptions& child = *operation.child;
    const auto failed = [](int error) { return Submission{.done = {.transferred = -1, .error = error}}; };
    const ChildFactory* const factory = machine_->program(child.arguments[0]);
    if (factory == nullptr) { return failed(ENOENT); }
    if (!child.directory.empty()) {
        const std::shared_ptr<DiskFile> directory = machine_->disk().find(child.directory);
        if (directory == nullptr || !directory->is_directory) {
            return failed(directory == nullptr ? ENOENT : ENOTDIR);
        }
    }
    const Label label = label_for(options, operation.kind);
    auto handle = std::make_unique<Child>(*this, *machine_, child, (*factory)());
    Answer& answer = scratch();
    const ChildStream streams[3] = {child.input, child.output, child.error};
    const std::size_t capacity = network().options().pipe_buffer;
    for (int number = 0; number < 3; ++number) {
        if (streams[number] != ChildStream::pipe) { continue; }
        const auto ours = std::make_shared<StreamSocket>(*machine_, StreamKind::pipe);
        const auto its = std::make_shared<StreamSocket>(*machine_, StreamKind::pipe);
        constexpr std::string_view names[3] = {"input", "output", "error"};
        const Label pipe = named_below(label, names[number]);
        ours->name(pipe);
        its->name(named_below(pipe, "child"));
        StreamSocket::join_one_way(number == 0 ? *its : *ours, number == 0 ? *ours : *its, capacity, pipe);
        int error = 0;
        answer.handles[number] = open_stream(ours, HandleKind::pipe, error);
        if (error != 0) {
            for (const HandleId opened : answer.handles) { close_handle(opened); }
            return failed(error);
        }
        handle->process.give(number, its);
    }
    Child& added = *handle;
    added.pid = reactor_.start_child();
    add(std::move(handle));
    added.key = open_request(&added, operation.kind, {.label = label, .hidden = true});
    wake(added.key);
    return {.done = {.transferred = added.pid, .answer = &answer}};
}

Submission SimIo::kill(const Operation& operation) {
    if (operation.amount <= 0) { throw AsyncError("there is no process " + std::to_string(operation.amount)); }
    const auto number = static_cast<int>(operation.flags);
    if (Child* const found = child(operation.amount)) {
        if (number != 0) { found->signal(number); }
        return {};
    }
    const bool ended = number != 0 && reactor_.kill_child(static_cast<int>(operation.amount), number);
    return {.done = ended ? Completion{} : Completion{.transferred = -1, .error = ESRCH}};
}

}  // namespace heddle::sim::detail
