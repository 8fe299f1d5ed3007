// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/http/http_scenarios.hpp"

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/http/http_proxy.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::http {
namespace {

using namespace std::chrono_literals;

constexpr Duration drain = 100ms;
constexpr Duration answer_is_late = 80ms;  // for the service, which waits 50 ms for an answer
constexpr Duration patience = 5s;          // of a client: longer than any request can take

/// The service's part of a client's timeouts is much shorter than this one: a client that waits so long has lost its request.
const Limits client_limits{.idle = patience, .message = patience};

TcpListener bind_patiently(std::uint16_t port) {
    for (;;) {
        try {
            return TcpListener::bind(Address::ip("0.0.0.0", port));
        } catch (const OperationError& error) { HEDDLE_CHECK(error.code() == EMFILE); }
        sleep_for(1ms);
    }
}

// ── the machines behind the clients ──

void count_orders() {
    std::map<std::string, int> carried_out;
    Server server(
        bind_patiently(80),
        [&carried_out](const Request& request) -> Response {
            if (request.target.starts_with("/count")) { return {.body = std::to_string(carried_out[request.target.substr(6)])}; }
            if (sim::choose(2, "the backend is slow") == 1) { sleep_for(answer_is_late); }
            if (request.method == "POST") { ++carried_out[request.target]; }
            return {.body = request.target};
        },
        {.limits = {.idle = 30ms, .message = 1s}});
    server.run();
}

void serve(Mistake mistake) {
    {
        Proxy proxy({.host = "backend", .port = 80, .connections = 2, .lease = 200ms, .connect = 50ms, .exchange = 50ms, .mistake = mistake});
        Instant stopped{};
        Server* own = nullptr;
        Server server(
            bind_patiently(80),
            [&](const Request& request) -> Response {
                if (request.target != "/stop") { return proxy.forward(request); }
                if (!own->is_stopping()) { stopped = now(); }
                own->stop();
                return {.body = "stopping"};
            },
            {.limits = {.idle = 2s, .message = 1s}, .drain = drain, .mistake = mistake});
        own = &server;
        server.run();
        HEDDLE_CHECK(now() - stopped <= drain);
        HEDDLE_CHECK(server.open_connections() == 0);
        HEDDLE_CHECK(server.counts().received == server.counts().answered + server.counts().unanswered);
        proxy.close();
        HEDDLE_CHECK(proxy.leased() == 0);
        HEDDLE_CHECK(proxy.idle() == 0);
    }
    HEDDLE_CHECK(sim::World::current()->machine(1).open_count() == 0);
    sleep_for(2 * patience);  // the machine goes on, and says to whoever comes that nobody listens
}

// ── clients ──

/// One connection at a time, which is kept as long as it is good.
class Visitor {
public:
    explicit Visitor(std::string host) : host_(std::move(host)) {}

    /// Empty: the connection said that it failed. Throws TimeoutError where nobody says anything.
    std::optional<Response> ask(const Request& request) {
        return attempt([&] {
            stream().write(request, client_limits);
            return next();
        });
    }
    /// Both at once. What came for the second is empty, too, if the connection was not to be kept.
    std::pair<std::optional<Response>, std::optional<Response>> ask(const Request& first, const Request& second) {
        std::pair<std::optional<Response>, std::optional<Response>> answers;
        answers.first = attempt([&] {
            stream().connection().write(text_of(first) + text_of(second), {.timeout = patience});
            return next();
        });
        if (stream_) { answers.second = attempt([&] { return next(); }); }
        return answers;
    }
    [[nodiscard]] bool was_refused() const { return error_ == ECONNREFUSED; }
    /// Waits for the other side to end it.
    void linger() {
        if (stream_) { HEDDLE_CHECK(!attempt([&] { return next(); })); }
    }
    /// Nothing came that was not asked for.
    void leave() {
        if (!stream_) { return; }
        HEDDLE_CHECK(!attempt([&] {
            stream_->connection().shutdown();
            return next();
        }));
    }

private:
    Stream& stream() {
        if (!stream_) { stream_.emplace(TcpStream::connect(host_, 80, {.timeout = patience})); }
        return *stream_;
    }
    std::optional<Response> next() { return stream_->read_response(client_limits); }

    template <class Body>
    std::optional<Response> attempt(Body body) {
        std::optional<Response> response;
        error_ = 0;
        try {
            response = body();
        } catch (const OperationError& error) {
            error_ = error.code();
        } catch (const NameError&) {
        } catch (const MessageError& error) { HEDDLE_CHECK(error.reason() == MessageError::Reason::cut_off); }
        if (!response || !response->keep_alive) { stream_.reset(); }
        return response;
    }

    std::string host_;
    std::optional<Stream> stream_;
    int error_ = 0;
};

std::string item(std::string_view kind, std::int64_t number) { return "/" + std::string(kind) + "/" + std::to_string(number); }

/// @returns whether it was carried out, as far as the client knows
bool is_answered(const std::optional<Response>& response, const std::string& asked_for) {
    if (!response) { return false; }
    const unsigned status = response->status;
    HEDDLE_CHECK(status == 200 || status == 502 || status == 503 || status == 504);
    HEDDLE_CHECK(status != 200 || response->body == asked_for);
    return status == 200;
}

/// Of requests that are harmless: again until there is an answer, or nobody listens any more.
std::string ask_until_answered(const std::string& host, const Request& request) {
    int refused = 0;
    for (int attempt = 0; attempt < 1000 && refused < 20; ++attempt) {
        Visitor visitor(host);
        if (const std::optional<Response> response = visitor.ask(request); response && response->status == 200) { return response->body; }
        refused = visitor.was_refused() ? refused + 1 : 0;
        sleep_for(1ms);
    }
    return {};
}

}  // namespace

sim::Program clients(std::int64_t rounds) {
    return [rounds] {
        sleep_for(1ms);  // the services begin
        std::map<std::string, bool> orders;  // and whether they were answered
        const auto writer = spawn("writer", [&] {
            Visitor visitor("service");
            for (std::int64_t number = 0; number < 2 * rounds; ++number) {
                const std::string target = item("add", number);
                orders[target] = is_answered(visitor.ask({.method = "POST", .target = target, .body = "one"}), target);
            }
            visitor.leave();
        });
        const auto reader = spawn("reader", [&] {
            Visitor visitor("service");
            for (std::int64_t number = 0; number < 2 * rounds; number += 2) {
                const auto [first, second] = visitor.ask({.target = item("get", number)}, {.target = item("get", number + 1)});
                is_answered(first, item("get", number));
                is_answered(second, item("get", number + 1));
            }
            visitor.leave();
        });
        const auto idler = spawn("idler", [&] {
            Visitor visitor("service");
            is_answered(visitor.ask({.target = "/get/idle"}), "/get/idle");
            visitor.linger();
        });
        writer.await();
        reader.await();
        ask_until_answered("service", {.method = "POST", .target = "/stop"});
        idler.await();
        for (const auto& [target, answered] : orders) {
            const std::string count = ask_until_answered("backend", {.target = "/count" + target});
            HEDDLE_CHECK(answered ? count == "1" : count == "0" || count == "1");
        }
    };
}

std::function<void(sim::WorldOptions&)> world_with_services(Mistake mistake) {
    return [mistake](sim::WorldOptions& world) {
        using enum ChoiceKind;
        world.nodes = {{"service", [mistake] { serve(mistake); }, {}}, {"backend", count_orders, {.daemon = true}}};
        world.network.link = sim::Latency::exactly(1ms);
        world.network.chosen_faults_max = 50;  // else a search that chooses by chance lets nothing through, for ever
        world.faults = true;
        world.mask = {value, fault, ready, batch, dispatch, node, timer_io};
    };
}

std::vector<sim::Scenario> http_scenarios() {
    std::vector<sim::Scenario> all(1);
    sim::Scenario& http = all.front();
    http.name = "io/http";
    http.about = "an HTTP service with a pooled backend: each request is answered once or said to have failed; nothing leaks, the end is bounded";
    http.parameters.push_back({"rounds", "of two orders and two questions", "1", false, 1, 100});
    http.program = [](const sim::Parameters& parameters) { return clients(parameters.integer("rounds")); };
    http.oracles = [](const sim::Parameters&) { return prop::all_oracles(); };
    http.world = world_with_services(Mistake::none);
    http.depth = 1;
    return all;
}

}  // namespace heddle::http
