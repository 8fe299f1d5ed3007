// SPDX-License-Identifier: Apache-2.0
// Files, paths and watches of the simulated reactor: detail/sim_file.hpp says what they keep.
#include "heddle/simreactor/reactor/detail/sim_file.hpp"

#include <algorithm>
#include <cerrno>

#include "heddle/core/base/error.hpp"

namespace heddle::sim::detail {
namespace {

constexpr std::size_t read_max = 1024 * 1024;  // of one request, as on libuv: a short read is normal

Completion completion_of(std::int64_t result) {
    return result < 0 ? Completion{.transferred = -1, .error = static_cast<std::int32_t>(-result)}
                      : Completion{.transferred = result};
}

bool is_path(std::string_view path) { return !path.empty() && path.find('\0') == std::string_view::npos; }

std::unique_ptr<Answer> status_of(const DiskFile& file) {
    auto answer = std::make_unique<Answer>();
    answer->status = {.kind = file.is_directory ? FileKind::directory : FileKind::regular,
                      .permissions = file.permissions,
                      .size = static_cast<std::int64_t>(file.content.size()),
                      .modified_ns = file.modified.ns()};
    return answer;
}

}  // namespace

SimFile::SimFile(SimIo& io, int fd, std::shared_ptr<OpenFile> file)
    : SimHandle(io, HandleKind::file, fd), state_(std::make_shared<State>(io, fd, std::move(file))) {}

/// SF1: what may go to a worker goes.
void SimFile::State::begin(const std::shared_ptr<State>& self) {
    std::erase_if(jobs, [this](const Job& job) { return !job.begun && io.find_request(job.key) == nullptr; });
    bool order_is_free = true;
    for (Job& job : jobs) {
        if (job.begun) {
            order_is_free = order_is_free && !job.in_order;
            continue;
        }
        if (job.in_order && !std::exchange(order_is_free, false)) { continue; }
        job.begun = true;
        io.give_to_pool(job.key, [self, key = job.key, work = std::move(job.work)](Request* request) mutable {
            work(request);
            self->end_job(key);
            self->begin(self);
        });
    }
    if (jobs.empty() && closing && descriptor >= 0) {
        static_cast<void>(io.machine().close(std::exchange(descriptor, -1)));
    }
}

void SimFile::State::end_job(RequestKey key) {
    std::erase_if(jobs, [key](const Job& job) { return job.key == key; });
}

Submission SimFile::submit(const Operation& operation, const SourceOptions& options) {
    const std::shared_ptr<OpenFile>& file = state_->file;
    SimIo::Work work;
    bool in_order = true;
    switch (operation.kind) {
        case OperationKind::read: {
            std::vector<std::span<std::byte>> buffers(operation.buffers.begin(), operation.buffers.end());
            if (!operation.buffer.empty()) { buffers.insert(buffers.begin(), operation.buffer); }
            std::size_t room = 0;
            for (std::span<std::byte>& buffer : buffers) {
                buffer = buffer.first(std::min(buffer.size(), read_max - room));
                room += buffer.size();
            }
            if (room == 0) { return answer({}, options, operation.kind); }  // a file is always ready (RCT-48)
            in_order = operation.offset < 0;
            work = [file, buffers = std::move(buffers), offset = operation.offset](Request* request) {
                if (request == nullptr) { return; }
                request->completion = completion_of(file->read(buffers, offset));
                request->completion.end_of_stream = request->completion.transferred == 0;
            };
            break;
        }
        case OperationKind::write: {
            std::vector<std::byte> data(operation.data.begin(), operation.data.end());  // SF3
            for (const std::span<const std::byte> piece : operation.pieces) {
                data.insert(data.end(), piece.begin(), piece.end());
            }
            work = [file, data = std::move(data), offset = operation.offset](Request* request) {
                std::int64_t result = data.empty() ? 0 : file->write(data, offset);
                // A part went, and then the disk was full: the part stays, and the request fails (RCT-44).
                if (result >= 0 && static_cast<std::size_t>(result) < data.size()) { result = -ENOSPC; }
                if (request != nullptr) { request->completion = completion_of(result); }
            };
            break;
        }
        case OperationKind::seek:
            work = [file, offset = operation.offset, whence = operation.whence](Request* request) {
                if (request != nullptr) {
                    request->completion = completion_of(file->seek(offset, static_cast<int>(whence)));
                }
            };
            break;
        case OperationKind::stat:
            work = [file](Request* request) {
                if (request != nullptr) { request->answer = status_of(file->file()); }
            };
            break;
        case OperationKind::flush:
            work = [file](Request* request) {
                const int result = file->flush();
                if (request != nullptr) { request->completion = completion_of(result); }
            };
            break;
        case OperationKind::truncate:
            work = [file, size = operation.offset](Request* request) {
                const int result = file->truncate(size);
                if (request != nullptr) { request->completion = completion_of(result); }
            };
            break;
        case OperationKind::close: {
            const RequestKey key = io_.open_request(nullptr, operation.kind, options);
            const SourceId source = io_.source_of(key);
            const std::shared_ptr<State> state = state_;
            state->jobs.push_back({key, true, false, [](Request*) {}});
            let_go();
            io_.forget_handle(id);  // *this is gone; what is in flight goes on (SF2)
            state->begin(state);
            return {.request = source};
        }
        default: refuse(operation);
    }
    const RequestKey key = io_.open_request(this, operation.kind, options);
    const std::shared_ptr<State> state = state_;
    state->jobs.push_back({key, in_order, false, std::move(work)});
    io_.find_request(key)->dropped = [state, key] {
        state->end_job(key);
        state->begin(state);
    };
    state->begin(state);
    return {.request = io_.source_of(key)};
}

/// Nothing refers to the handle any more; what is in flight does not need it.
void SimFile::let_go() {
    for (const State::Job& job : state_->jobs) {
        if (Request* const request = io_.find_request(job.key)) { request->handle = nullptr; }
    }
    state_->closing = true;
}

void SimFile::close() {
    const std::shared_ptr<State> state = state_;
    let_go();
    std::vector<RequestKey> waiting;
    for (const State::Job& job : state->jobs) {
        if (!job.begun) { waiting.push_back(job.key); }
    }
    for (const RequestKey key : waiting) {
        state->end_job(key);
        if (io_.find_request(key) != nullptr) { io_.defer(key, {.transferred = -1, .error = ECANCELED}); }
    }
    state->begin(state);
}

// ── by path ──

Submission SimIo::open_file(const Operation& operation, const SourceOptions& options) {
    const auto has = [&](std::uint32_t flag) { return (operation.flags & flag) != 0; };
    if (!has(open_read) && !has(open_write)) {
        throw AsyncError("a file is opened for reading, for writing or for both");
    }
    if (!is_path(operation.target)) { return {.done = completion_of(-ENOENT)}; }
    const OpenFile::Flags flags{has(open_read),     has(open_write),  has(open_create),
                                has(open_exclusive), has(open_truncate), has(open_append),
                                static_cast<std::uint32_t>(operation.amount)};
    const RequestKey key = submit_work(
        nullptr, operation.kind, options, [this, flags, path = std::string(operation.target)](Request* request) {
            if (request == nullptr) { return; }
            int error = 0;
            const std::shared_ptr<OpenFile> file = OpenFile::open(*machine_, path, flags, error);
            if (file == nullptr) {
                request->completion = completion_of(error);
                return;
            }
            file->name(request->label);
            const int descriptor = machine_->open(file);
            request->completion = descriptor < 0
                                      ? completion_of(descriptor)
                                      : Completion{.handle = add(std::make_unique<SimFile>(*this, descriptor, file))};
        });
    return {.request = source_of(key)};
}

Submission SimIo::stat_path(const Operation& operation, const SourceOptions& options) {
    if (!is_path(operation.target)) { return {.done = completion_of(-ENOENT)}; }
    const RequestKey key =
        submit_work(nullptr, operation.kind, options, [this, path = std::string(operation.target)](Request* request) {
            if (request == nullptr) { return; }
            const std::string name = Disk::normal(path);
            machine_->touch(machine_->path_cell(name), TouchMode::read);
            const std::shared_ptr<DiskFile> file = machine_->disk().find(name);
            if (file == nullptr) {
                request->completion = completion_of(-ENOENT);
            } else {
                request->answer = status_of(*file);
            }
        });
    return {.request = source_of(key)};
}

// ── watches ──

/// One watch: it has no handle that the program knows, and lives as long as its request.
class SimIo::Watch final : public SimHandle {
public:
    Watch(SimIo& io, std::shared_ptr<PathWatch> watch) : SimHandle(io, HandleKind::none, -1), watch_(std::move(watch)) {
        watch_->watch(this);
    }
    ~Watch() override { end(); }

    RequestKey key = 0;

    Submission submit(const Operation& operation, const SourceOptions&) override { refuse(operation); }
    [[nodiscard]] bool is_ready(RequestKey) const override { return watch_->readiness() != 0; }
    void go_on(RequestKey request) override {
        PathWatch::Change change;
        if (!watch_->next(change)) { return; }
        auto answer = std::make_unique<Answer>();
        answer->host = std::move(change.name);
        if (is_ready(request)) { io_.wake(request); }
        io_.report(request,
                   {.transferred = change.is_name ? change_name : change_content, .more = true}, std::move(answer));
    }
    bool forget(RequestKey) override {
        io_.forget_handle(id);  // *this is gone
        return true;
    }
    [[nodiscard]] HandleInfo info() const override { return {}; }
    void close() override {
        if (Request* const request = io_.find_request(key)) { request->handle = nullptr; }
        end();
    }
    void on_ready() override {
        if (key != 0) { io_.wake(key); }
    }

private:
    void end() {
        watch_->watch(nullptr);
        watch_->close();
    }

    std::shared_ptr<PathWatch> watch_;
};

Submission SimIo::watch(const Operation& operation, const SourceOptions& options) {
    const std::string path = Disk::normal(operation.target);
    if (!is_path(operation.target) || machine_->disk().find(path) == nullptr) {
        return {.done = completion_of(-ENOENT)};
    }
    auto watch = std::make_unique<Watch>(
        *this, std::make_shared<PathWatch>(machine_->disk(), path, operation.amount != 0));
    Watch& added = *watch;
    add(std::move(watch));
    added.key = open_request(&added, operation.kind, options);
    return {.request = source_of(added.key)};
}

}  // namespace heddle::sim::detail
