// SPDX-License-Identifier: Apache-2.0
// say: a scenario's own marks in the stream of events, and a Transcript that collects them.
//
//   program ── say("a1") ──▶ event `user` ──▶ trace, timeline, Transcript "a1 b1 a2"
//
// Choice points: none.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/seam/observer.hpp"

namespace heddle::prop {

/// Marks a point of the running coroutine. Nothing happens where no Observer listens.
void say(std::string_view text);

/// What was said in a run, in order, separated by blanks.
class Transcript final : public Observer {
public:
    void on_event(const Event& event) override {
        if (event.kind != EventKind::user) { return; }
        if (!text_.empty()) { text_ += ' '; }
        text_ += event.note;
    }
    [[nodiscard]] const std::string& text() const { return text_; }
    void clear() { text_.clear(); }

private:
    std::string text_;
};

}  // namespace heddle::prop
