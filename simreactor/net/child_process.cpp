// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/child_process.hpp"

#include <cerrno>
#include <utility>

namespace heddle::sim {

void ChildProcess::give(int stream, std::shared_ptr<StreamSocket> end) {
    streams_[stream] = std::move(end);
    if (streams_[stream] != nullptr) { streams_[stream]->watch(watcher_); }
}

void ChildProcess::watch(KernelWatcher* watcher) {
    watcher_ = watcher;
    for (const std::shared_ptr<StreamSocket>& stream : streams_) {
        if (stream != nullptr) { stream->watch(watcher); }
    }
}

std::int64_t ChildProcess::read(std::span<std::byte> buffer) {
    if (streams_[0] == nullptr) { return 0; }
    const std::span<std::byte> buffers[] = {buffer};
    return streams_[0]->read(buffers);
}

std::int64_t ChildProcess::write(int stream, std::span<const std::byte> data) {
    HEDDLE_ASSERT(stream == 1 || stream == 2, "a process writes to its output or its error");
    if (streams_[stream] == nullptr) { return static_cast<std::int64_t>(data.size()); }
    const std::span<const std::byte> pieces[] = {data};
    return streams_[stream]->write(pieces);
}

void ChildProcess::close(int stream) {
    if (const std::shared_ptr<StreamSocket> gone = std::exchange(streams_[stream], nullptr)) {
        gone->watch(nullptr);
        gone->close();
    }
}

void ChildProcess::set_alarm(Duration after) {
    machine_.host().later(Latency::exactly(after), {}, [this, lives = lives_] {
        if (!*lives) { return; }
        alarm_is_due_ = true;
        if (watcher_ != nullptr) { watcher_->on_ready(); }
    });
}

void ChildProcess::exit(int code) { end(code & 0xff); }

void ChildProcess::end(int code) {
    if (std::exchange(has_ended_, true)) { return; }
    *lives_ = false;
    code_ = code;
    for (const int stream : {0, 1, 2}) { close(stream); }
}

}  // namespace heddle::sim
