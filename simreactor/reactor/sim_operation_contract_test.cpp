// SPDX-License-Identifier: Apache-2.0
// The simulated reactor keeps the contract of handles and operations: as the baseline at every timing level, and under
// seeds of a random walk through its choices, parts of reads and writes among them.
#include <map>
#include <string>
#include <utility>

#include "heddle/core/seam/contract/operations.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/net/testing/programs.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::contract {
namespace {

class SimEnvironment final : public OperationEnvironment {
public:
    explicit SimEnvironment(sim::SimReactorOptions options) : reactor_(std::move(options)) { install(); }
    SimEnvironment(sim::SimReactorOptions options, std::uint64_t seed)
        : random_(seed), reactor_(with(std::move(options))) {
        install();
    }

    Reactor& reactor() override { return reactor_; }
    Address here() override { return Address::ip("127.0.0.1", 0); }
    Address nobody() override { return Address::ip("127.0.0.1", 9); }
    std::string free_path() override { return "/" + std::to_string(++last_name_); }
    std::string new_directory() override {
        const std::string path = free_path();
        make_directory(path);
        return path;
    }
    void make_directory(const std::string& path) override { EXPECT_EQ(disk().make_directory(path), 0); }
    void put_file(const std::string& path, std::string_view content) override { disk().put(path, content); }
    std::optional<std::string> file(const std::string& path) override {
        const auto found = disk().find(path);
        return found == nullptr ? std::nullopt : std::optional(text_of(found->content));
    }
    std::string known_name() override { return "localhost"; }
    std::string unknown_name() override { return "nowhere.invalid"; }
    std::vector<std::string> copier() override { return {"cat"}; }
    std::vector<std::string> ender(int code) override { return {"end", std::to_string(code)}; }
    std::vector<std::string> sleeper() override { return {"sleep"}; }
    std::size_t open_descriptors() override { return reactor_.machine().open_count(); }

private:
    void install() { sim::testing::install_programs(reactor_.machine()); }
    sim::Disk& disk() { return reactor_.machine().disk(); }
    sim::SimReactorOptions with(sim::SimReactorOptions options) {
        options.chooser = &random_;
        return options;
    }

    sim::RandomChooser random_{0};
    sim::SimReactor reactor_;
    std::size_t last_name_ = 0;
};

std::vector<OperationBackend> backends() {
    std::vector<OperationBackend> all;
    for (const auto level : {sim::TimeLevel::T0, sim::TimeLevel::T1, sim::TimeLevel::T2}) {
        all.push_back({"Fifo" + std::string(trace::to_string(level)), [level] {
                           sim::SimReactorOptions options;
                           options.timing = sim::Timing::at(level);
                           return std::make_unique<SimEnvironment>(std::move(options));
                       }});
    }
    // A tick without callbacks, and what a tick leaves for the next one, are within the bounds of `settle` (OC2) only
    // where they are left out.
    for (std::uint64_t seed = 1; seed <= 7; ++seed) {
        all.push_back({"Seed" + std::to_string(seed), [seed] {
                           sim::SimReactorOptions options;
                           options.mask = sim::ChoiceMask::all()
                                              .without(ChoiceKind::time)
                                              .without(ChoiceKind::spurious)
                                              .without(ChoiceKind::batch);
                           return std::make_unique<SimEnvironment>(std::move(options), seed);
                       }});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Sim, OperationContract, ::testing::ValuesIn(backends()), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Sim, DatagramContract, ::testing::ValuesIn(backends()), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Sim, FileContract, ::testing::ValuesIn(backends()), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Sim, OutsideContract, ::testing::ValuesIn(backends()), operation_backend_name);

}  // namespace
}  // namespace heddle::contract
