// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/model/state.hpp"

#include "heddle/core/base/assert.hpp"

namespace heddle::prop::model {

void flatten(const Block& block, std::vector<Line>& lines) {
    for (const Step& step : block) {
        const auto& n = step.numbers;
        switch (step.what) {
            case Do::yield: lines.push_back({Op::yield}); break;
            case Do::cancel: lines.push_back({Op::cancel, n[0]}); break;
            case Do::send: lines.push_back({Op::send, n[0]}); break;
            case Do::receive: lines.push_back({Op::receive, n[0]}); break;
            case Do::try_send: lines.push_back({Op::try_send, n[0]}); break;
            case Do::try_receive: lines.push_back({Op::try_receive, n[0]}); break;
            case Do::close: lines.push_back({Op::close, n[0]}); break;
            case Do::close_pool: lines.push_back({Op::close_pool, n[0]}); break;
            case Do::lock:
            case Do::permit: {
                const std::uint32_t gate = step.what == Do::lock ? n[0] : the_permits;
                const std::uint32_t count = step.what == Do::lock ? 1 : 1 + n[0];
                lines.push_back({Op::enter, gate, count});
                flatten(step.blocks[0], lines);
                lines.push_back({Op::leave, gate, count});
                break;
            }
            case Do::use:
            case Do::try_use: {
                const std::size_t at = lines.size();
                HEDDLE_ASSERT(n[0] < pool_places.size(), "the model does not know this pool");
                lines.push_back({step.what == Do::use ? Op::acquire : Op::try_acquire, n[0]});
                flatten(step.blocks[0], lines);
                lines.push_back({Op::give_back, n[0], step.what == Do::use ? n[2] : n[1]});
                lines[at].past = lines.size();
                break;
            }
            default: HEDDLE_ASSERT(false, "the model does not know this step");
        }
    }
}

namespace {

void append(std::string& text, const std::deque<int>& numbers) {
    for (const int number : numbers) { text += std::to_string(number) + ","; }
    text += ';';
}

}  // namespace

std::string State::key() const {
    std::string text;
    for (const Co& co : coroutines) {
        for (const int part : {static_cast<int>(co.where), static_cast<int>(co.wait), static_cast<int>(co.ended), co.granted ? 1 : 0,
                               co.pending ? 1 : 0, static_cast<int>(co.at), co.sends}) {
            text += std::to_string(part) + ",";
        }
        for (const Held& held : co.held) { text += (held.is_lease ? "l" : "g") + std::to_string(held.number) + ":" + std::to_string(held.what) + ","; }
        text += co.journal + ";";
    }
    for (const Channel& channel : channels) {
        append(text, channel.buffer);
        append(text, channel.receivers);
        append(text, channel.senders);
        for (const std::size_t part : {static_cast<std::size_t>(channel.offer.who + 1), static_cast<std::size_t>(channel.offer.value),
                                       channel.promised_values, channel.promised_slots}) {
            text += std::to_string(part) + ",";
        }
        text += channel.offer.dead ? 'd' : 'l';
        text += channel.closed ? 'c' : 'o';
    }
    for (const Pool& pool : pools) {
        append(text, pool.idle);
        append(text, pool.waiters);
        for (const std::size_t part : {pool.active, pool.promised, pool.dropped, static_cast<std::size_t>(pool.made)}) {
            text += std::to_string(part) + ",";
        }
        text += pool.closed ? 'c' : 'o';
    }
    for (const Gate& gate : gates) {
        append(text, gate.waiters);
        text += std::to_string(gate.free) + "," + std::to_string(gate.entered) + ",";
    }
    text += main_closed ? 'm' : '-';
    return text;
}

std::string State::outcome() const {
    std::string text;
    for (std::size_t i = 0; i < coroutines.size(); ++i) {
        if (coroutines[i].journal.empty()) { continue; }
        text += (text.empty() ? "" : " | ") + std::to_string(i) + ": " + coroutines[i].journal;
    }
    return text;
}

}  // namespace heddle::prop::model
