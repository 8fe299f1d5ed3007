// SPDX-License-Identifier: Apache-2.0
// Corpus, area io: completions go to the one who asked, and bytes are neither lost, doubled nor shifted.
//
//   BUG-147  true-async/php-async#144       a reader sleeps on after somebody else has closed its connection
//   BUG-148  true-async/php-async#129       the completion of one writer wakes the other one, too
//   BUG-149  true-async/php-async#129       a writer behind a full buffer does not hear of the peer's reset
//   BUG-150  true-async/php-async@0c5cf1e   writes to one file use one position, all at once
//   BUG-152  true-async/php-async@04f14fc   one failure, a reader and a writer: the second one gets a dead object
//   BUG-153  tinylabscom/mvm#2593           a framed read that is cancelled loses what it had taken
//   BUG-175  true-async/php-async#144       a reader sleeps on after the child behind its pipe was killed and waited for
//   BUG-176  true-async/php-async#287       a worker goes on with memory and descriptor of a file operation that was cancelled
//
// The programs are those of core/io; all but BUG-150, BUG-175 and BUG-176 run on libuv, too. Connections take four bytes before somebody reads them.
// Where chance enters: sim::choose; parts of reads and writes; order and batching of what is ready, the worker pool, polls, who runs next.
#include <string>
#include <utility>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/simreactor/net/child_process.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

struct Pair {
    TcpStream client;
    TcpStream server;
};

Pair connected() {
    auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
    const Address at = listener.info().local;
    Pair pair;
    auto connecting = spawn("connect", [&] { pair.client = TcpStream::connect(at); });
    pair.server = listener.accept();
    join(connecting);
    return pair;
}

void reader_of_what_another_one_closes() {
    Pair pair = connected();
    const bool answered = sim::choose(2, "something comes before it is closed") == 1;
    auto a = spawn("reader", [&] {
        char byte = 0;
        std::size_t got = 0;
        const ErrorValue error = caught([&] { got = pair.server.read(&byte, 1); });
        HEDDLE_CHECK(error ? holds<OperationError>(error) || holds<AsyncError>(error) : answered && got == 1);
    });
    auto b = spawn("closer", [&] {
        if (answered) { pair.client.write("x"); }
        pair.server.close();
    });
    join(a, b);
}

void two_writers_on_one_handle() {
    Pair pair = connected();
    int ended = 0;
    const auto write = [&](const char* text) {
        pair.client.write(text);
        ++ended;
    };
    auto a = spawn("a", [&] { write("aaaaaa"); });
    auto b = spawn("b", [&] { write("bbbbbb"); });
    std::string got(12, '\0');
    HEDDLE_CHECK(pair.server.read_exactly(std::as_writable_bytes(std::span(got))) == 12);
    HEDDLE_CHECK(got == "aaaaaabbbbbb" || got == "bbbbbbaaaaaa");
    join(a, b);
    HEDDLE_CHECK(ended == 2);
}

void writer_that_waits_hears_of_a_reset() {
    const Clock clock;
    Pair pair = connected();
    auto a = spawn("writer", [&] {
        HEDDLE_CHECK(holds<OperationError>(caught([&] { pair.client.write("more than fits"); })));
        HEDDLE_CHECK(clock.is_at(5ms));
    });
    sleep_for(5ms);
    if (sim::choose(2, "the peer has read a part") == 1) {
        char byte = 0;
        pair.server.read(&byte, 1);
    }
    pair.server.close();  // with something unread: a reset
    join(a);
}

void two_writers_of_one_file() {
    static_cast<void>(outside());  // its disk: a run leaves nothing behind
    File file = File::open("/records", {.flags = open_read | open_write | open_create | open_truncate});
    auto a = spawn("a", [&] { file.write(std::string_view("aa")); });
    auto b = spawn("b", [&] { file.write(std::string_view("bb")); });
    join(a, b);
    file.seek(0);
    const std::string content = file.read_all(10);
    HEDDLE_CHECK(content == "aabb" || content == "bbaa");
}

void failure_of_a_reader_and_a_writer() {
    Pair pair = connected();
    auto reader = spawn("reader", [&] {
        char byte = 0;
        std::size_t got = 0;
        const ErrorValue error = caught([&] { got = pair.client.read(&byte, 1); });
        HEDDLE_CHECK(error ? holds<OperationError>(error) : got == 0);  // the reset, or the end if the writer has heard of it
    });
    auto writer = spawn("writer", [&] {
        HEDDLE_CHECK(holds<OperationError>(caught([&] { pair.client.write("more than fits"); })));
    });
    const bool disposes = sim::choose(2, "the first to hear of it closes") == 1;
    let_all_run();
    pair.server.close();
    if (disposes) {
        join(reader);
        pair.client.close();
    }
    join(reader, writer);
}

void framed_read_that_is_cancelled() {
    Pair pair = connected();
    std::string taken;  // belongs to the connection, not to who reads
    const auto next_frame = [&] {
        while (taken.size() < 4) {
            char part[4];
            const std::size_t some = pair.server.read(part, 4 - taken.size());
            HEDDLE_CHECK(some > 0);
            taken.append(part, some);
        }
        return std::exchange(taken, {});
    };
    std::string frame;
    auto a = spawn("a", [&] { frame = next_frame(); });
    auto peer = spawn("peer", [&] { pair.client.write("wxyz"); });
    sim::anywhere([&] { a.cancel(); });
    join(a, peer);
    if (frame.empty()) {
        auto b = spawn("b", [&] { frame = next_frame(); });
        join(b);
    }
    HEDDLE_CHECK(frame == "wxyz");
}

/// Waits for a signal, having said a word or not.
class Waiting final : public sim::ChildProgram {
public:
    void run(sim::ChildProcess& process) override {
        if (process.arguments().size() > 1 && !std::exchange(has_said_, true)) {
            process.write(1, std::as_bytes(std::span(process.arguments()[1])));
        }
    }

private:
    bool has_said_ = false;
};

void reader_of_a_killed_child() {
    const Clock clock;
    outside().machine().add_program("wait", [] { return std::make_unique<Waiting>(); });
    ChildOptions options{.arguments = {"wait"}, .output = ChildStream::pipe};
    const bool says = sim::choose(2, "it has said something") == 1;
    if (says) { options.arguments.emplace_back("x"); }
    Process child(options);
    const bool closes = sim::choose(2, "the pipe is closed at once") == 1;
    auto reader = spawn("reader", [&] {
        std::string got;
        const ErrorValue error = caught([&] {
            char byte = 0;
            while (child.output().read(&byte, 1) == 1) { got += byte; }
        });
        HEDDLE_CHECK(!error || (closes && holds<OperationError>(error)));
        HEDDLE_CHECK(got == (says ? "x" : ""));
        HEDDLE_CHECK(clock.is_at(5ms));
    });
    auto killer = spawn("killer", [&] {
        sleep_for(5ms);
        child.kill(15);
        if (closes) { child.output().close(); }
        HEDDLE_CHECK(child.wait() == -15);
    });
    join(reader, killer);
}

void file_operation_that_is_cancelled() {
    static_cast<void>(outside());  // its disk: a run leaves nothing behind
    constexpr auto fresh = open_read | open_write | open_create | open_truncate;
    File file = File::open("/records", {.flags = fresh});
    file.write(std::string_view("abcd"));
    file.seek(0);
    const bool writes = sim::choose(2, "it writes") == 1;
    std::string memory = writes ? "wxyz" : "....";
    auto a = spawn("a", [&] {
        if (writes) {
            file.write(std::string_view(memory));
        } else {
            file.read(std::as_writable_bytes(std::span(memory)));
        }
    });
    sim::anywhere([&] { a.cancel(); });
    join(a);
    memory = "####";  // it is somebody else's now, and so is the descriptor
    file.close();
    File other = File::open("/others", {.flags = fresh});
    other.write(std::string_view("o"));
    sleep_for(1ms);
    HEDDLE_CHECK(memory == "####");
    other.seek(0);
    HEDDLE_CHECK(other.read_all(10) == "o");
    const std::string left = File::open("/records", {.flags = open_read}).read_all(10);
    HEDDLE_CHECK(left == "abcd" || (writes && left == "wxyz"));
}

/// Small enough for a word to wait in.
sim::Scenario with_small_buffers(sim::Scenario scenario) {
    scenario.world = [before = std::move(scenario.world)](sim::WorldOptions& world) {
        if (before) { before(world); }
        world.network.stream_buffer = 4;
    };
    return scenario;
}

}  // namespace

std::vector<sim::Scenario> io_area() {
    using enum ChoiceKind;
    std::vector<sim::Scenario> all{
        scenario_of({"corpus/BUG-147", "true-async/php-async#144",
                     "A reader whose connection another coroutine closes is told so, wherever it stands.", 2,
                     {value, dispatch, ready, batch, poll}},
                    reader_of_what_another_one_closes),
        scenario_of({"corpus/BUG-148", "true-async/php-async#129",
                     "Two writers on one handle get a completion each, and their bytes are whole.", 3, {value, dispatch, ready, poll}},
                    two_writers_on_one_handle),
        scenario_of({"corpus/BUG-149", "true-async/php-async#129",
                     "A writer that waits behind a full buffer hears of the peer's reset at once.", 2,
                     {value, dispatch, ready, batch, poll}},
                    writer_that_waits_hears_of_a_reset),
        scenario_of({"corpus/BUG-150", "true-async/php-async@0c5cf1e",
                     "Writes of several coroutines to one file come one after the other, each whole.", 3, {value, dispatch, pool, ready, batch, poll}},
                    two_writers_of_one_file),
        scenario_of({"corpus/BUG-152", "true-async/php-async@04f14fc",
                     "A connection that fails ends its reader and its writer, whoever hears of it first and closes it.", 3,
                     {value, dispatch, ready, batch, poll}},
                    failure_of_a_reader_and_a_writer),
        scenario_of({"corpus/BUG-153", "tinylabscom/mvm#2593",
                     "A framed read that is cancelled at any point leaves what it has taken to the next one.", 2,
                     {value, dispatch, ready, batch, poll, arrival}},
                    framed_read_that_is_cancelled),
        scenario_of({"corpus/BUG-175", "true-async/php-async#144",
                     "A reader of a child's pipe hears of its end when the child is killed and waited for.", 3, {value, dispatch, ready, batch, poll}},
                    reader_of_a_killed_child),
        scenario_of({"corpus/BUG-176", "true-async/php-async#287",
                     "A file operation that is cancelled touches neither memory nor file of anybody else, whatever its worker still does.", 3,
                     {value, dispatch, pool, req_cancel, ready, batch, poll, arrival}},
                    file_operation_that_is_cancelled),
    };
    for (sim::Scenario& scenario : all) { scenario = with_small_buffers(std::move(scenario)); }
    return all;
}

}  // namespace heddle::prop::corpus
