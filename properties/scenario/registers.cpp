// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/registers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

constexpr int node_count = 5;
constexpr int majority = node_count / 2 + 1;
constexpr std::uint32_t key_count = 4;
constexpr std::uint16_t port = 7000;
constexpr Duration round_takes_at_most = 200ms;
constexpr Duration client_waits = 500ms;  // longer than the two rounds of an operation

/// The order of what is written to one key. Values are never written twice, so two tags are equal only if their values are.
struct Tag {
    std::uint64_t count = 0;
    std::uint64_t value = 0;
    friend auto operator<=>(const Tag&, const Tag&) = default;
};

enum class Word : std::uint32_t { read, write, done, ask, told, store, stored };

/// What travels. It is copied as it lies in memory: the machines of one world are of one kind.
struct Message {
    Word word = Word::done;
    std::uint32_t key = 0;
    std::uint64_t number = 0;  ///< of the client's operation, or of the coordinator's round
    Tag tag{};
};

void send(UdpSocket& socket, const Message& message, const Address& to) {
    try {
        socket.send(std::as_bytes(std::span(&message, 1)), to);
    } catch (const OperationError&) {}  // a datagram may be lost anyway
}

/// A message, and who it is from; none if something else came.
std::optional<std::pair<Message, Address>> receive(UdpSocket& socket, const IoOptions& options = {}) {
    Message message;
    const Datagram datagram = socket.receive(std::as_writable_bytes(std::span(&message, 1)), options);
    if (datagram.size != sizeof message || datagram.truncated) { return std::nullopt; }
    return std::pair(message, datagram.from);
}

Address address_of(int node) { return Address::ip("10.0.0." + std::to_string(node + 1), port); }

// ── a replica's registers, on its disk ──

/// Two places for each key, of which the older one is written: a write that is torn leaves the other one.
class Registers {
public:
    explicit Registers(bool flushes) : flushes_(flushes), file_(open()) {
        for (std::uint32_t place = 0; place < 2 * key_count; ++place) {
            Slot slot;
            if (!read(place, slot) || slot.sum != sum_of(slot, place)) { continue; }
            Kept& kept = kept_[place / 2];
            if (slot.tag > kept.tag) { kept = {slot.tag, place % 2}; }
        }
    }

    [[nodiscard]] const Tag& of(std::uint32_t key) const { return kept_[key].tag; }

    /// True if it is kept, and so is everything that was; false if the disk has failed. One at a time.
    bool keep(std::uint32_t key, const Tag& tag) {
        Kept& kept = kept_[key];
        if (tag <= kept.tag) { return true; }
        const std::uint32_t half = 1 - kept.half;
        const std::uint32_t place = 2 * key + half;
        Slot slot{tag, 0};
        slot.sum = sum_of(slot, place);
        try {
            file_.write_at(offset_of(place), std::as_bytes(std::span(&slot, 1)));
            if (flushes_) { file_.flush(); }
        } catch (const OperationError&) {
            return false;  // that place holds anything now, and the other one what it held
        }
        kept = {tag, half};
        return true;
    }

private:
    struct Slot {
        Tag tag{};
        std::uint64_t sum = 0;
    };
    struct Kept {
        Tag tag{};
        std::uint32_t half = 1;
    };
    static std::uint64_t sum_of(const Slot& slot, std::uint32_t place) {
        return hash_mix(hash_mix(slot.tag.count, slot.tag.value), place + 1);
    }
    static std::int64_t offset_of(std::uint32_t place) { return static_cast<std::int64_t>(place * sizeof(Slot)); }

    static File open() {
        for (;;) {
            try {
                return File::open("/registers", {.flags = open_read | open_write | open_create});
            } catch (const OperationError&) { sleep_for(10ms); }
        }
    }
    /// False at the end of the file. A disk that fails is asked again: to take it for empty would be to forget.
    bool read(std::uint32_t place, Slot& slot) {
        const std::span<std::byte> all = std::as_writable_bytes(std::span(&slot, 1));
        for (std::size_t have = 0; have < all.size();) {
            try {
                const std::size_t some = file_.read_at(offset_of(place) + static_cast<std::int64_t>(have), all.subspan(have));
                if (some == 0) { return false; }
                have += some;
            } catch (const OperationError&) { sleep_for(10ms); }
        }
        return true;
    }

    bool flushes_;
    File file_;
    std::array<Kept, key_count> kept_{};
};

// ── a node ──

class Node {
public:
    Node(RegisterMistake mistake, std::uint64_t first_round)
        : mistake_(mistake), next_round_(first_round), registers_(mistake != RegisterMistake::answers_before_it_flushes) {}

    void serve() {
        for (;;) {
            const auto received = receive(socket_);
            if (!received) { continue; }
            const auto& [message, from] = *received;
            switch (message.word) {
                case Word::ask: send(socket_, {Word::told, message.key, message.number, registers_.of(message.key)}, from); break;
                case Word::store:
                    if (registers_.keep(message.key, message.tag)) { send(socket_, {Word::stored, message.key, message.number, {}}, from); }
                    break;
                case Word::told:
                case Word::stored: take_answer(message, from); break;
                case Word::read:
                case Word::write: begin(message, from); break;
                case Word::done: break;
            }
        }
    }

private:
    struct Round {
        Word awaited;
        std::set<std::uint32_t> heard{};  ///< the last byte of who has answered
        int answers = 0;
        Tag newest{};
        Ref<OneShotEvent> enough{};
    };

    /// A client's operations are numbered upwards: what comes again, or late, was begun already.
    void begin(const Message& message, const Address& client) {
        std::uint64_t& last = last_of_[client.port];
        if (message.number <= last) { return; }
        last = message.number;
        spawn("operation", [this, message, client] { operate(message, client); });
    }

    void operate(const Message& message, const Address& client) {
        const std::optional<Tag> seen = round({Word::ask, message.key, 0, {}}, Word::told);
        if (!seen) { return; }
        const bool reads = message.word == Word::read;
        const Tag tag = reads ? *seen : Tag{seen->count + 1, message.tag.value};
        const bool stores = !reads || mistake_ != RegisterMistake::reads_without_storing;
        if (stores && !round({Word::store, message.key, 0, tag}, Word::stored)) { return; }
        send(socket_, {Word::done, message.key, message.number, tag}, client);
    }

    /// Asks everybody and waits for a majority. @returns the newest tag that it was told; none if there was no majority in time
    std::optional<Tag> round(Message message, Word awaited) {
        message.number = next_round_++;
        Round& own = rounds_.emplace(message.number, Round{.awaited = awaited}).first->second;
        own.enough = OneShotEvent::make(current_runtime("round").scheduler(), "enough");
        const Ref<OneShotEvent> enough = own.enough;
        for (int node = 1; node <= node_count; ++node) { send(socket_, message, address_of(node)); }
        bool reached = true;
        const Timeout limit(round_takes_at_most);
        try {
            await_event(enough, limit);
        } catch (const OperationCanceled&) { reached = false; }
        const Tag newest = rounds_.at(message.number).newest;
        rounds_.erase(message.number);
        return reached ? std::optional(newest) : std::nullopt;
    }

    void take_answer(const Message& message, const Address& from) {
        const auto found = rounds_.find(message.number);
        if (found == rounds_.end() || found->second.awaited != message.word) { return; }
        Round& round = found->second;
        const bool is_new = round.heard.insert(from.bytes[3]).second;
        if (is_new || mistake_ == RegisterMistake::counts_itself_twice) { ++round.answers; }
        round.newest = std::max(round.newest, message.tag);
        if (round.answers >= majority) { round.enough->complete(); }
    }

    RegisterMistake mistake_;
    std::uint64_t next_round_;
    UdpSocket socket_ = UdpSocket::bind(Address::ip("0.0.0.0", port));
    Registers registers_;
    std::map<std::uint64_t, Round> rounds_;
    std::map<std::uint16_t, std::uint64_t> last_of_;
};

void run_node(RegisterMistake mistake) {
    // Rounds are numbered on from the time, so that no answer to a round before a crash is taken for one to a round behind it.
    Node(mistake, 1 + static_cast<std::uint64_t>(now().ns())).serve();
}

// ── the clients and their judge ──

/// RG1, RG2: what has been seen so far. A value says of which key it is: nothing has to be remembered of a long life.
class Judge {
public:
    [[nodiscard]] Tag newest(std::uint32_t key) const { return newest_[key]; }
    [[nodiscard]] std::uint64_t new_value(std::uint32_t key) { return ++values_ * key_count + key; }
    /// @param before  the newest that had been seen when the operation began
    void read(std::uint32_t key, const Tag& before, const Tag& tag) {
        HEDDLE_CHECK(tag >= before);
        if (tag == Tag{}) { return; }
        HEDDLE_CHECK(tag.value % key_count == key && tag.value / key_count <= values_);
        newest_[key] = std::max(newest_[key], tag);
    }
    void wrote(std::uint32_t key, std::uint64_t value, const Tag& before, const Tag& tag) {
        HEDDLE_CHECK(tag > before && tag.value == value);
        newest_[key] = std::max(newest_[key], tag);
    }

private:
    std::array<Tag, key_count> newest_{};
    std::uint64_t values_ = 0;
};

/// `usual`, more or less.
Duration about(sim::Prng& chance, Duration usual) {
    const auto half = static_cast<std::uint64_t>(usual.count() / 2);
    return Duration(static_cast<std::int64_t>(chance.between(half, 3 * half)));
}

class Client {
public:
    Client(Judge& judge, int node, sim::Prng chance) : judge_(judge), to_(address_of(node)), chance_(chance) {}

    void work(Duration pause, Instant until) {
        while (now() < until) {
            sleep_for(about(chance_, pause));
            operate(chance_.below(2) == 0);
        }
    }
    /// RG4: asks until it is answered, and soon.
    void end() {
        int attempts = 0;
        while (!operate(true)) { HEDDLE_CHECK(++attempts < 50); }
    }
    [[nodiscard]] std::uint64_t digest() const { return digest_; }

private:
    bool operate(bool reads) {
        const auto key = static_cast<std::uint32_t>(chance_.below(key_count));
        const Tag before = judge_.newest(key);
        const std::uint64_t value = reads ? 0 : judge_.new_value(key);
        send(socket_, {reads ? Word::read : Word::write, key, ++number_, {0, value}}, to_);
        const Instant deadline = now() + client_waits;
        try {
            while (now() < deadline) {
                const auto received = receive(socket_, {.timeout = deadline - now()});
                if (!received || received->first.word != Word::done || received->first.number != number_) { continue; }
                const Tag& tag = received->first.tag;
                if (reads) {
                    judge_.read(key, before, tag);
                } else {
                    judge_.wrote(key, value, before, tag);
                }
                digest_ = hash_mix(hash_mix(digest_, static_cast<std::uint64_t>(now().ns())), hash_mix(tag.count, tag.value));
                return true;
            }
        } catch (const TimeoutError&) {}
        digest_ = hash_mix(digest_, number_);
        return false;
    }

    Judge& judge_;
    UdpSocket socket_ = UdpSocket::bind(Address::ip("0.0.0.0", 0));
    Address to_;
    sim::Prng chance_;
    std::uint64_t number_ = 0;
    std::uint64_t digest_ = 0;
};

/// One trouble after the other; each ends before the next one of the same maker begins.
void make_trouble(sim::Prng chance, Duration calm, Instant until) {
    sim::World& world = *sim::World::current();
    for (;;) {
        sleep_for(about(chance, calm));
        if (now() >= until) { return; }
        const auto kind = chance.below(10);
        const auto a = static_cast<std::size_t>(chance.between(1, node_count));
        const auto b = static_cast<std::size_t>(chance.below(node_count + 1));
        const Duration takes = about(chance, calm / 2);
        if (kind < 4) {
            std::vector<std::size_t> struck{a};
            if (kind == 0) { struck = {1, 2, 3, 4, 5}; }  // the power fails
            std::erase_if(struck, [&world](std::size_t node) { return world.has_crashed(node); });
            for (const std::size_t node : struck) { world.crash(node); }
            sleep_for(takes);
            for (const std::size_t node : struck) { world.restart(node); }
        } else if (a != b) {
            sim::Machine& one = world.machine(a);
            sim::Machine& other = world.machine(b);
            world.network().cut(one, other);
            if (kind < 7) { world.network().cut(other, one); }
            sleep_for(takes);
            world.network().rejoin(one, other);
        }
    }
}

}  // namespace

sim::Program register_clients(const RegistersOptions& options) {
    return [options] {
        sleep_for(1ms);  // the nodes begin
        const sim::Prng& chance = sim::World::current()->prng();
        const Instant until = now() + options.span;
        Judge judge;
        std::array<std::optional<Client>, node_count> clients;
        std::vector<Coroutine<void>> all;
        for (int node = 1; node <= node_count; ++node) {
            Client& client = clients[static_cast<std::size_t>(node - 1)].emplace(judge, node, chance.stream("client" + std::to_string(node)));
            all.push_back(spawn("client", [&client, &options, until] {
                client.work(options.pause, until);
                sleep_for(options.calm);  // the last trouble is over
                client.end();
            }));
        }
        for (const char* maker : {"trouble1", "trouble2"}) {
            all.push_back(spawn("trouble", [&options, until, own = chance.stream(maker)] { make_trouble(own, options.calm, until); }));
        }
        std::uint64_t digest = 0;
        for (const auto& one : all) { one.await(); }
        for (const auto& client : clients) { digest = hash_mix(digest, client->digest()); }
        sim::show_state(digest);
    };
}

std::function<void(sim::WorldOptions&)> world_with_registers(RegisterMistake mistake) {
    return [mistake](sim::WorldOptions& world) {
        using enum ChoiceKind;
        static constexpr std::array names{"node1", "node2", "node3", "node4", "node5"};
        for (const char* name : names) { world.nodes.push_back({name, [mistake] { run_node(mistake); }, {.daemon = true}}); }
        world.network.link = sim::Latency::exactly(2ms);
        world.network.late_by = 30ms;
        world.network.chosen_faults_max = 20;
        using Kind = sim::FaultKind;
        using Rate = std::pair<Kind, sim::Ratio>;
        for (const auto& [kind, ratio] :
             {Rate{Kind::datagram_lost, {1, 200}}, Rate{Kind::datagram_doubled, {1, 200}}, Rate{Kind::datagram_late, {1, 200}},
              Rate{Kind::disk_error, {1, 200}}, Rate{Kind::disk_full, {1, 50}}, Rate{Kind::flush_failed, {1, 50}},
              Rate{Kind::short_read, {1, 20}}}) {
            world.network.faults.rules.push_back({.kind = kind, .ratio = ratio});
        }
        world.faults = true;
        world.mask = {value, fault, ready, batch, dispatch, node};
        world.dispatches_max = 0;  // a long life is no livelock
    };
}

std::vector<sim::Scenario> register_scenarios() {
    std::vector<sim::Scenario> all(1);
    sim::Scenario& registers = all.front();
    registers.name = "world/registers";
    registers.about =
        "a key-value store on five machines, through partitions and crashes: nobody sees anything older than was seen before";
    registers.parameters.push_back({"seconds", "of trouble", "3", false, 1, 10'000'000});
    registers.program = [](const sim::Parameters& parameters) {
        return register_clients({.span = std::chrono::seconds(parameters.integer("seconds")), .pause = 500ms, .calm = 1s});
    };
    registers.oracles = [](const sim::Parameters&) { return all_oracles(); };
    registers.world = world_with_registers(RegisterMistake::none);
    registers.depth = 0;
    return all;
}

}  // namespace heddle::prop
