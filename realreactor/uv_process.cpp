// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_process.hpp"

#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "heddle/core/base/error.hpp"

namespace heddle::real::detail {

UvProcesses::Child& UvProcesses::child(int pid) {
    const auto found =
        std::find_if(children_.begin(), children_.end(), [pid](const auto& at) { return at->pid == pid; });
    HEDDLE_ASSERT(found != children_.end(), "C1");
    return **found;
}

SourceId UvProcesses::open(int pid, const SourceOptions& options) {
    if (pid <= 0) { throw AsyncError("there is no process " + std::to_string(pid)); }
    const auto found =
        std::find_if(children_.begin(), children_.end(), [pid](const auto& at) { return at->pid == pid; });
    if (found == children_.end()) {
        children_.push_back(std::make_unique<Child>());
        children_.back()->pid = pid;
    }
    ++child(pid).references;
    const SourceId id = host_.sources.open(SourceKind::process, options);
    host_.sources.at(SourceTable::slot_of(id)).number = pid;
    return id;
}

void UvProcesses::look(Child& at) {
    int status = 0;
    pid_t got = 0;
    do { got = waitpid(at.pid, &status, WNOHANG); } while (got < 0 && errno == EINTR);
    if (got == 0) { return; }  // it runs
    at.ended = true;
    if (got < 0) {
        at.code = -1;  // not ours, or waited for by somebody else
    } else {
        at.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }
}

void UvProcesses::start(UvSource& source, SourceId id) {
    if (source.started) { return; }
    Child& at = child(source.number);
    if (!at.ended) {
        if (!listening_) {
            signals_.listen(SIGCHLD, *this);
            listening_ = true;
        }
        look(at);
    }
    if (at.ended) {
        const int code = at.code;
        listen_while_needed();
        deliver(id, code);
        return;
    }
    at.started.push_back(id);
    host_.set_started(source, true);
}

void UvProcesses::stop(UvSource& source, SourceId id) {
    if (!host_.set_started(source, false)) { return; }
    std::erase(child(source.number).started, id);
    listen_while_needed();
}

void UvProcesses::close(UvSource& source, SourceId id) {
    stop(source, id);
    const int pid = source.number;
    host_.sources.close(SourceTable::slot_of(id));
    if (--child(pid).references == 0) {
        std::erase_if(children_, [pid](const auto& at) { return at->pid == pid; });
    }
}

void UvProcesses::deliver(SourceId id, int code) {
    UvSource* source = host_.sources.find(id);
    const Delivery delivery{
        .source = id, .kind = SourceKind::process, .owner = source->owner, .label = source->label, .value = code};
    close(*source, id);  // before its callbacks (EVT-12)
    host_.deliver(delivery);
}

void UvProcesses::on_signal() {
    std::vector<std::pair<SourceId, int>> ended;
    for (const auto& at : children_) {
        if (at->started.empty()) { continue; }
        if (!at->ended) { look(*at); }
        if (!at->ended) { continue; }
        for (const SourceId id : at->started) { ended.emplace_back(id, at->code); }
    }
    for (const auto& [id, code] : ended) {
        const UvSource* source = host_.sources.find(id);
        if (source != nullptr && source->started) { deliver(id, code); }  // unless an earlier callback stopped it
    }
}

void UvProcesses::listen_while_needed() {
    const bool needed =
        std::any_of(children_.begin(), children_.end(), [](const auto& at) { return !at->started.empty(); });
    if (needed || !listening_) { return; }
    listening_ = false;
    signals_.unlisten(SIGCHLD);
}

void UvProcesses::close_all() {
    for (const SourceId id : host_.sources.all(SourceKind::process)) { host_.sources.close(SourceTable::slot_of(id)); }
    children_.clear();
    listening_ = false;
}

}  // namespace heddle::real::detail
