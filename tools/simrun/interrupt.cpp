// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM end a search with what was found; a second one ends the process.
#include "heddle/tools/simrun/detail/interrupt.hpp"

namespace heddle::detail {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t asked_to_end = 0;

void ask(int) { asked_to_end = 1; }

void take_over(int number, struct sigaction& before) {
    struct sigaction ours {};
    ours.sa_handler = &ask;
    ours.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigemptyset(&ours.sa_mask);
    // Also where it was ignored, as a script's background jobs find it: who sends it to a search wants it to end.
    ::sigaction(number, &ours, &before);
}

}  // namespace

Interrupt::Interrupt() {
    asked_to_end = 0;
    take_over(SIGINT, before_interrupt_);
    take_over(SIGTERM, before_terminate_);
}

Interrupt::~Interrupt() {
    ::sigaction(SIGINT, &before_interrupt_, nullptr);
    ::sigaction(SIGTERM, &before_terminate_, nullptr);
}

bool Interrupt::asked() const noexcept { return asked_to_end != 0; }

}  // namespace heddle::detail
