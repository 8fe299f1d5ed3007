// SPDX-License-Identifier: Apache-2.0
// What a simulated kernel is made of, and what it needs from whoever drives it.
//
//   program's side ──read, write, accept …──▶ KernelObject ──readiness changed──▶ KernelWatcher
//                                                  │ time, chance, footprints
//                                                  ▼
//                                             KernelHost (one per machine)
//
// K1  Operations never wait: a negative result is an errno value, -EAGAIN is "not now".
// K2  There is one notification, "readiness may have changed"; it may come from inside an operation of any object, and
//     a watcher only takes note of it.
// K3  Objects do not know what drives them: neither reactors nor coroutines are named here.
// Choice points: each object names its own; they are asked through KernelHost.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/seam/footprint.hpp"
#include "heddle/simreactor/net/latency.hpp"

namespace heddle::sim {

enum ReadyBits : std::uint32_t { ready_read = 1, ready_write = 2 };
using ReadyMask = std::uint32_t;

class KernelWatcher {
public:
    virtual void on_ready() = 0;

protected:
    ~KernelWatcher() = default;
};

class KernelObject {
public:
    KernelObject() = default;
    KernelObject(const KernelObject&) = delete;
    KernelObject& operator=(const KernelObject&) = delete;
    virtual ~KernelObject() = default;

    [[nodiscard]] virtual ReadyMask readiness() const = 0;
    /// The program lets go of it. Idempotent.
    virtual void close() = 0;
    /// At most one; null takes it away.
    void watch(KernelWatcher* watcher) { watcher_ = watcher; }
    /// Names it in choice points and footprints; the first name stays.
    void name(Label label) {
        if (!label_) { label_ = label; }
    }
    [[nodiscard]] Label label() const { return label_; }

protected:
    void changed() {
        if (watcher_ != nullptr) { watcher_->on_ready(); }
    }

private:
    KernelWatcher* watcher_ = nullptr;
    Label label_;
};

class KernelHost {
public:
    [[nodiscard]] virtual Instant true_time() const = 0;
    /// Runs `arrive` once that much time has passed, and not before `not_before`. What was asked for earlier, for the
    /// same instant, comes earlier. @returns the earliest instant at which it comes
    virtual Instant later(const Latency& latency, Instant not_before, UniqueFunction<void()> arrive) = 0;
    /// A data choice. 0 if nobody asks for it.
    virtual std::uint32_t choose(std::string_view name, std::uint32_t count, Label object) = 0;
    /// Whether an explorer is asked for faults now.
    [[nodiscard]] virtual bool offers_faults() const = 0;
    /// A choice of faults: 0 for none, n for the n-th of these names.
    virtual std::uint32_t choose_fault(std::span<const std::string_view> names, Label object) = 0;
    /// A label with this text, or with this one below another: what choice points and traces call a thing.
    virtual Label named(std::string_view text) = 0;
    virtual Label named_below(Label parent, std::string_view name) = 0;
    virtual void touch(Cell where, TouchMode mode) = 0;

protected:
    ~KernelHost() = default;
};

}  // namespace heddle::sim
