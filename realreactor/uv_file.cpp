// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

constexpr std::size_t read_max = 1024 * 1024;  // of one request: a short read is normal (RCT-42)

Completion failure(ssize_t status) {
    return {.transferred = -1, .error = errno_of(static_cast<int>(status)), .cancelled = status == UV_ECANCELED};
}

void put_status(const uv_stat_t& from, FileStatus& to) {
    to.kind = S_ISREG(from.st_mode) ? FileKind::regular : S_ISDIR(from.st_mode) ? FileKind::directory : FileKind::other;
    to.permissions = static_cast<std::uint32_t>(from.st_mode & 07777);
    to.size = static_cast<std::int64_t>(from.st_size);
    to.modified_ns = static_cast<std::int64_t>(from.st_mtim.tv_sec) * 1'000'000'000 + from.st_mtim.tv_nsec;
}

bool is_path(std::string_view path) { return !path.empty() && path.find('\0') == std::string_view::npos; }

}  // namespace

// ── by path ──

/// A request without a handle: its parameters are libuv's copies.
class UvFiles::PathWork : public UvWork {
public:
    PathWork(UvFiles& files, OperationKind operation) : UvWork(files.host_), works(files.works_), kind(operation) {
        fs.data = this;
    }
    ~PathWork() override { uv_fs_req_cleanup(&fs); }

    static void on_done(uv_fs_t* request) {
        auto* const at = static_cast<PathWork*>(request->data);
        const std::unique_ptr<UvWork> kept = at->works.take(*at);
        Completion completion;
        if (request->result < 0) {
            completion = failure(request->result);
        } else if (at->kind == OperationKind::stat) {
            Answer& answer = at->host_.requests->scratch();
            put_status(request->statbuf, answer.status);
            completion.answer = &answer;
        } else {
            auto* const file = new UvFile(at->host_, at->works, static_cast<int>(request->result));
            completion.handle = at->host_.handles->add(*file);
        }
        at->host_.requests->finish(*at, completion);
    }

    uv_fs_t fs{};
    UvWorks& works;
    OperationKind kind;

private:
    uv_req_t* raw() override { return reinterpret_cast<uv_req_t*>(&fs); }
};

HandleId UvFiles::adopt(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))) {
        const int error = errno == EBADF ? UV_EBADF : UV_EINVAL;
        throw_io_error("cannot open descriptor " + std::to_string(descriptor) + " as file", error);
    }
    return host_.handles->add(*new UvFile(host_, works_, descriptor));
}

Submission UvFiles::open(const Operation& operation, const SourceOptions& options) {
    const bool reads = (operation.flags & open_read) != 0;
    const bool writes = (operation.flags & open_write) != 0;
    if (!reads && !writes) { throw AsyncError("a file is opened for reading, for writing or for both"); }
    if (!is_path(operation.target)) { return {.done = {.transferred = -1, .error = ENOENT}}; }
    int flags = reads && writes ? O_RDWR : reads ? O_RDONLY : O_WRONLY;
    if ((operation.flags & open_create) != 0) { flags |= O_CREAT; }
    if ((operation.flags & open_exclusive) != 0) { flags |= O_EXCL; }
    if ((operation.flags & open_truncate) != 0) { flags |= O_TRUNC; }
    if ((operation.flags & open_append) != 0) { flags |= O_APPEND; }
    auto work = std::make_unique<PathWork>(*this, operation.kind);
    const int mode = static_cast<int>(operation.amount);
    const int status = uv_fs_open(host_.loop->raw(), &work->fs, std::string(operation.target).c_str(), flags, mode,
                                  &PathWork::on_done);
    if (status < 0) { return {.done = failure(status)}; }
    const SourceId id = host_.requests->open(*work, options);
    works_.put(std::move(work));
    return {.request = id};
}

Submission UvFiles::stat(const Operation& operation, const SourceOptions& options) {
    if (!is_path(operation.target)) { return {.done = {.transferred = -1, .error = ENOENT}}; }
    auto work = std::make_unique<PathWork>(*this, operation.kind);
    const int status =
        uv_fs_stat(host_.loop->raw(), &work->fs, std::string(operation.target).c_str(), &PathWork::on_done);
    if (status < 0) { return {.done = failure(status)}; }
    const SourceId id = host_.requests->open(*work, options);
    works_.put(std::move(work));
    return {.request = id};
}

// ── by handle ──

class UvFile::Work final : public UvWork {
public:
    Work(UvHost& host, UvWorks& all, OperationKind operation) : UvWork(host), works(all), kind(operation) {
        fs.data = this;
    }
    ~Work() override { uv_fs_req_cleanup(&fs); }

    bool on_abandoned() override {
        abandoned = true;
        if (kind == OperationKind::close) {
            return false;
        }  // what was begun is finished: else the descriptor would stay
        if (begun) {
            uv_cancel(raw());
            return false;
        }
        leave();
        return true;
    }
    void on_cancel() override {
        if (kind == OperationKind::close) { return; }
        if (begun) {
            uv_cancel(raw());
            return;
        }
        host_.requests->defer_cancelled(*this);
        leave();
    }

    [[nodiscard]] bool in_order() const { return kind != OperationKind::read || offset < 0; }
    int send(int fd);
    void on_done();
    void tell(const Completion& completion) {
        if (is_pending()) { host_.requests->finish(*this, completion); }
    }

    [[nodiscard]] UvHost& host() { return host_; }

    UvWorks& works;
    uv_fs_t fs{};
    const OperationKind kind;
    bool begun = false;
    std::shared_ptr<State> state{};
    std::int64_t offset = -1;
    SeekFrom whence = SeekFrom::begin;
    std::vector<std::span<std::byte>> into{};  // the caller's, until it is abandoned
    std::unique_ptr<std::byte[]> bytes{};
    std::size_t size = 0;
    std::size_t done = 0;

private:
    uv_req_t* raw() override { return reinterpret_cast<uv_req_t*>(&fs); }
    /// Out of the queue, and gone.
    void leave() {
        const std::shared_ptr<State> kept = state;
        kept->waiting.remove_if([this](const std::unique_ptr<Work>& at) { return at.get() == this; });
    }
};

UvFile::UvFile(UvHost& host, UvWorks& works, int fd)
    : UvHandle(host, HandleKind::file), works_(works), state_(std::make_shared<State>(fd)) {}

UvFile::State::State(int descriptor) : fd(descriptor) {}

UvFile::State::~State() {
    HEDDLE_ASSERT(waiting.empty() && busy.empty(), "F2");
    if (fd >= 0) { ::close(fd); }
}

/// Gives it, or what is left of it, to the pool.
int UvFile::Work::send(int fd) {
    uv_loop_t* const loop = host_.loop->raw();
    const auto callback = [](uv_fs_t* request) { static_cast<Work*>(request->data)->on_done(); };
    uv_fs_req_cleanup(&fs);
    const uv_buf_t buffer = uv_buf_init(reinterpret_cast<char*>(bytes.get() + done),
                                        static_cast<unsigned>(std::min(size - done, read_max)));
    switch (kind) {
        case OperationKind::read: return uv_fs_read(loop, &fs, fd, &buffer, 1, offset, callback);
        case OperationKind::write:
            return uv_fs_write(loop, &fs, fd, &buffer, 1, offset < 0 ? -1 : offset + static_cast<std::int64_t>(done),
                               callback);
        case OperationKind::stat: return uv_fs_fstat(loop, &fs, fd, callback);
        case OperationKind::flush: return uv_fs_fsync(loop, &fs, fd, callback);
        case OperationKind::truncate: return uv_fs_ftruncate(loop, &fs, fd, offset, callback);
        case OperationKind::close: return uv_fs_close(loop, &fs, fd, callback);
        default: return UV_ENOTSUP;
    }
}

void UvFile::Work::on_done() {
    const std::shared_ptr<State> kept_state = state;
    const ssize_t result = fs.result;
    if (kind == OperationKind::write && result > 0) {
        done += static_cast<std::size_t>(result);
        if (done < size && !abandoned && is_pending() && send(state->fd) == 0) { return; }
    }
    const std::unique_ptr<UvWork> kept = works.take(*this);
    kept_state->busy.remove(this);
    if (in_order()) { kept_state->in_turn = false; }

    Completion completion{.transferred = result};
    if (kind == OperationKind::close) {
        if (result == UV_ECANCELED) { ::close(kept_state->fd); }  // no worker had begun it
        kept_state->fd = -1;
    }
    if (result < 0) {
        completion = failure(result);
    } else if (kind == OperationKind::read) {
        completion.end_of_stream = result == 0;
        std::size_t copied = 0;
        for (const std::span<std::byte> part : into) {
            if (abandoned || !is_pending()) { break; }  // F1
            const std::size_t some = std::min(part.size(), static_cast<std::size_t>(result) - copied);
            std::memcpy(part.data(), bytes.get() + copied, some);
            copied += some;
        }
    } else if (kind == OperationKind::write) {
        completion.transferred = static_cast<std::int64_t>(done);
        if (done < size) { completion = {.transferred = -1, .error = EIO}; }
    } else if (kind == OperationKind::stat) {
        Answer& answer = host_.requests->scratch();
        put_status(fs.statbuf, answer.status);
        completion.answer = &answer;
    }
    tell(completion);
    next(kept_state);
}

void UvFile::begin(const std::shared_ptr<State>& state, std::unique_ptr<Work> work) {
    Work& at = *work;
    at.begun = true;
    at.state = state;
    if (at.in_order()) { state->in_turn = true; }
    state->busy.push_back(&at);
    UvWorks& works = at.works;
    works.put(std::move(work));
    if (const int status = at.send(state->fd); status != 0) {
        const std::unique_ptr<UvWork> kept = works.take(at);
        state->busy.remove(&at);
        if (at.in_order()) { state->in_turn = false; }
        if (at.is_pending()) { at.host().requests->defer(at, failure(status)); }
    }
}

/// The one request that a worker is not needed for.
Completion UvFile::seek(const State& state, const Work& work) {
    const int from = work.whence == SeekFrom::begin ? SEEK_SET : work.whence == SeekFrom::end ? SEEK_END : SEEK_CUR;
    const off_t at = ::lseek(state.fd, work.offset, from);
    if (at < 0) { return {.transferred = -1, .error = errno}; }
    return {.transferred = at};
}

/// The next one of the queue, or the close that waited for the last one.
void UvFile::next(const std::shared_ptr<State>& state) {
    while (!state->waiting.empty() && !state->in_turn) {
        std::unique_ptr<Work> work = std::move(state->waiting.front());
        state->waiting.pop_front();
        if (work->kind == OperationKind::seek) {
            work->tell(seek(*state, *work));  // only ever after another request of the file, inside a tick
            continue;
        }
        begin(state, std::move(work));
    }
    if (state->busy.empty() && state->closer != nullptr) { begin(state, std::move(state->closer)); }
}

Submission UvFile::submit(const Operation& operation, const SourceOptions& options) {
    auto work = std::make_unique<Work>(host_, works_, operation.kind);
    work->state = state_;
    work->offset = operation.offset;
    work->whence = operation.whence;
    switch (operation.kind) {
        case OperationKind::read: {
            const auto add = [&](std::span<std::byte> part) {
                if (part.empty()) { return; }
                work->into.push_back(part);
                work->size += part.size();
            };
            add(operation.buffer);
            for (const std::span<std::byte> part : operation.buffers) { add(part); }
            if (work->size == 0) { return answer({}, options); }  // a file is always ready (RCT-48)
            work->size = std::min(work->size, read_max);
            work->bytes = std::make_unique_for_overwrite<std::byte[]>(work->size);
            break;
        }
        case OperationKind::write: {
            work->size = operation.data.size();
            for (const std::span<const std::byte> part : operation.pieces) { work->size += part.size(); }
            if (work->size == 0) { return answer({}, options); }
            work->bytes = std::make_unique_for_overwrite<std::byte[]>(work->size);
            std::byte* to = std::copy(operation.data.begin(), operation.data.end(), work->bytes.get());
            for (const std::span<const std::byte> part : operation.pieces) {
                to = std::copy(part.begin(), part.end(), to);
            }
            break;
        }
        case OperationKind::seek:
            if (state_->waiting.empty() && !state_->in_turn) { return answer(seek(*state_, *work), options); }
            break;
        case OperationKind::stat:
        case OperationKind::flush: break;
        case OperationKind::truncate:
            if (operation.offset < 0) { throw AsyncError("a file is truncated to 0 bytes or more"); }
            break;
        case OperationKind::close: {
            const SourceId request = host_.requests->open(*work, options);
            state_->closer = std::move(work);
            host_.close_handle(id);  // *this is gone
            return {.request = request};
        }
        default: refuse(operation);
    }
    const SourceId request = host_.requests->open(*work, options);
    if (work->in_order()) {
        state_->waiting.push_back(std::move(work));
        next(state_);
    } else {
        begin(state_, std::move(work));
    }
    return {.request = request};
}

void UvFile::close() {
    const std::unique_ptr<UvFile> self(this);
    const Completion canceled{.transferred = -1, .error = ECANCELED};
    for (const std::unique_ptr<Work>& work : state_->waiting) { host_.requests->defer(*work, canceled); }
    state_->waiting.clear();
    for (Work* const work : state_->busy) {
        if (work->is_pending() && !work->abandoned) { host_.requests->defer(*work, canceled); }
    }
    next(state_);
}

}  // namespace heddle::real::detail
