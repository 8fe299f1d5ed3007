// SPDX-License-Identifier: Apache-2.0
// A simrun of one's own, as a user writes it: one scenario, one line of main.
#include <array>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

namespace {

/// Both clerks look, then both sell: the last ticket goes twice if one of them is held up in between.
void sell_the_last_ticket() {
    int tickets = 1;
    const auto clerk = [&tickets] {
        if (tickets == 0) { return; }
        heddle::yield();  // asks the customer for his name
        --tickets;
    };
    auto first = heddle::spawn("first", clerk);
    auto second = heddle::spawn("second", clerk);
    first.await();
    second.await();
    HEDDLE_CHECK(tickets >= 0);
}

}  // namespace

int main(int argc, char** argv) {
    heddle::sim::Scenario scenario;
    scenario.name = "box_office/last_ticket";
    scenario.about = "two clerks sell the last ticket";
    scenario.program = [](const heddle::sim::Parameters&) { return heddle::sim::Program(&sell_the_last_ticket); };
    const std::array scenarios{scenario};
    return heddle::simrun_main(argc, argv, scenarios);
}
