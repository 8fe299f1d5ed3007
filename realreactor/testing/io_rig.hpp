// SPDX-License-Identifier: Apache-2.0
// IoTest: programs on the libuv reactor, run as production runs them and once more with an Observer attached, which
// takes the ways that simulated worlds take. Each run ends with the descriptors that it began with.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <utility>

#include "heddle/core/io/stream.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/realreactor/testing/uv_rig.hpp"

namespace heddle::real::testing {

class Listener final : public Observer {
public:
    void on_event(const Event&) override { ++events; }
    void on_touch(Cell, TouchMode) override {}
    std::size_t events = 0;
};

class IoTest : public ::testing::Test {
protected:
    IoTest() {
        directory = new_folder();
        run_once({}, [] {});  // what libuv opens once in a process is open from here on
    }
    ~IoTest() override { std::filesystem::remove_all(directory); }

    template <class Program>
    void run(Program&& program) {
        for (const bool observed : {false, true}) {
            SCOPED_TRACE(observed ? "with an observer" : "as production");
            Listener listener;
            RuntimeOptions options;
            options.observer = observed ? &listener : nullptr;
            const std::size_t before = open_descriptors();
            run_once(options, program);
            EXPECT_EQ(open_descriptors(), before) << "a descriptor is left open";
            EXPECT_EQ(listener.events > 0, observed);
        }
    }
    template <class Program>
    static void run_once(const RuntimeOptions& options, Program&& program) {
        UvReactor reactor;
        Runtime runtime(reactor, options);
        runtime.run(program);
        EXPECT_EQ(runtime.statistics().active_events, 0U);
    }

    /// What the error says; empty if there is none of this type.
    template <class E, class Body>
    static std::string error_of(Body&& body) {
        try {
            body();
        } catch (const E& error) { return error.what(); }
        ADD_FAILURE() << "no error of the expected type";
        return {};
    }
    template <class Body>
    static int code_of(Body&& body) {
        try {
            body();
        } catch (const IoError& error) { return error.code(); }
        return 0;
    }

    std::string path(const std::string& name) const { return directory + "/" + name; }
    std::string directory;
};

/// Both ends of a new connection.
template <class Stream, class Listener, class Address>
std::pair<Stream, Stream> connected(Listener& listener, const Address& at) {
    auto accepted = spawn([&] { return std::make_shared<Stream>(listener.accept()); });
    Stream client = Stream::connect(at);
    return {std::move(client), std::move(*accepted.await())};
}

}  // namespace heddle::real::testing
