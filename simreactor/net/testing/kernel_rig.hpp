// SPDX-License-Identifier: Apache-2.0
// KernelRig: machines of a simulated kernel without a reactor: time goes by when a test says so, and choices have the answers
// that it gives.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/simreactor/net/datagram_socket.hpp"
#include "heddle/simreactor/net/network.hpp"
#include "heddle/simreactor/net/stream_socket.hpp"

namespace heddle::sim::testing {

class KernelRig final : public KernelHost {
public:
    explicit KernelRig(NetworkOptions options = {}) : network(std::move(options)) {}

    Machine& machine(const std::string& name) { return network.add_machine(name, this); }

    Network network;  // goes last: what is coming refers to it

    /// Runs what arrives until then, and moves the clock.
    void pass(Duration by) {
        const Instant end = now_ + by;
        while (!coming_.empty() && coming_.begin()->first.first <= end) {
            now_ = std::max(now_, coming_.begin()->first.first);
            UniqueFunction<void()> arrive = std::move(coming_.begin()->second);
            coming_.erase(coming_.begin());
            arrive();
        }
        now_ = end;
    }
    /// The next choices of this name; 0 when they are used up.
    void answer(const std::string& name, std::vector<std::uint32_t> answers) { answers_[name] = std::move(answers); }
    std::vector<std::uint32_t> counts;  ///< alternatives of each data choice that was asked

    [[nodiscard]] Instant true_time() const override { return now_; }
    Instant later(const Latency& latency, Instant not_before, UniqueFunction<void()> arrive) override {
        const Instant arrives = std::max(now_ + latency.min, not_before);
        coming_.emplace(std::pair(arrives, ++sequence_), std::move(arrive));
        return arrives;
    }
    std::uint32_t choose(std::string_view name, std::uint32_t count, Label) override {
        counts.push_back(count);
        std::vector<std::uint32_t>& left = answers_[std::string(name)];
        if (left.empty()) { return 0; }
        const std::uint32_t answer = left.front();
        left.erase(left.begin());
        return answer;
    }
    [[nodiscard]] bool offers_faults() const override { return false; }
    std::uint32_t choose_fault(std::span<const std::string_view>, Label) override { return 0; }
    Label named(std::string_view text) override { return LabelBook::of(text); }
    Label named_below(Label parent, std::string_view name) override { return Label{hash_text(name, parent.value)}; }
    void touch(Cell, TouchMode) override {}

private:
    Instant now_;
    std::uint64_t sequence_ = 0;
    std::map<std::pair<Instant, std::uint64_t>, UniqueFunction<void()>> coming_;
    std::map<std::string, std::vector<std::uint32_t>> answers_;
};

inline std::int64_t put(StreamSocket& socket, std::string_view text) {
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(text))};
    return socket.write(pieces);
}

/// What one read gives, "<end>" at the end, or "<errno value>".
inline std::string get(StreamSocket& socket, std::size_t size = 100) {
    std::string text(size, '\0');
    const std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(text))};
    const std::int64_t got = socket.read(buffers);
    if (got < 0) { return "<" + std::to_string(-got) + ">"; }
    return got == 0 ? "<end>" : text.substr(0, static_cast<std::size_t>(got));
}

struct Connected {
    std::shared_ptr<StreamSocket> client;
    std::shared_ptr<StreamSocket> server;
};

/// A listener at port 80 of `at`.
inline std::shared_ptr<StreamSocket> listener_at(Machine& at, int backlog = 16) {
    auto listener = std::make_shared<StreamSocket>(at, StreamKind::tcp);
    at.open(listener);
    listener->bind(Address::ip("0.0.0.0", 80));
    listener->listen(backlog);
    return listener;
}

inline Connected connected(KernelRig& rig, Machine& from, Machine& to, Duration wait = Duration::zero()) {
    const auto listener = listener_at(to);
    Connected pair{std::make_shared<StreamSocket>(from, StreamKind::tcp), nullptr};
    Address at = to.addresses().front();
    at.port = 80;
    pair.client->connect(at);
    rig.pass(wait);
    int error = 0;
    pair.server = listener->accept(error);
    listener->close();
    return pair;
}

}  // namespace heddle::sim::testing
