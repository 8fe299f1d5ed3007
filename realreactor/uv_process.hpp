// SPDX-License-Identifier: Apache-2.0
// UvProcesses: the ends of child processes (RCT-53).
//
//   SIGCHLD ─▶ waitpid(pid, WNOHANG), child by child in the order of opening ─▶ its sources in start order ─▶ sink
//
// C1  One record per pid, shared by its sources: a child is waited for once, and its code is kept while a source is
//     open.
// C2  Only watched children are waited for: the program's other children stay its own.
// C3  The handler for SIGCHLD is there before the first look at a child, so that no end falls between the two.
#pragma once

#include <memory>
#include <vector>

#include "heddle/realreactor/detail/uv_host.hpp"
#include "heddle/realreactor/uv_signal.hpp"

namespace heddle::real::detail {

class UvProcesses final : public UvSignalListener {
public:
    UvProcesses(UvHost& host, UvSignals& signals) : host_(host), signals_(signals) {}

    SourceId open(int pid, const SourceOptions& options);
    /// Delivers at once, and closes the source, if the child has ended.
    void start(UvSource& source, SourceId id);
    void stop(UvSource& source, SourceId id);
    void close(UvSource& source, SourceId id);
    void close_all();
    void on_signal() override;

private:
    struct Child {
        int pid = 0;
        bool ended = false;
        int code = 0;
        std::uint32_t references = 0;
        std::vector<SourceId> started;
    };

    [[nodiscard]] Child& child(int pid);
    static void look(Child& at);
    void deliver(SourceId id, int code);
    void listen_while_needed();

    UvHost& host_;
    UvSignals& signals_;
    std::vector<std::unique_ptr<Child>> children_;  // in the order of opening (G24)
    bool listening_ = false;
};

}  // namespace heddle::real::detail
