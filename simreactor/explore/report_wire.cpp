// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/report_wire.hpp"

#include <bit>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/explore/wire.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::sim {
namespace {

void write(WireWriter& out, const Estimate& estimate) {
    for (const double value : {estimate.value, estimate.low, estimate.high}) { out.number(std::bit_cast<std::uint64_t>(value)); }
}

Estimate read_estimate(WireReader& in) {
    Estimate estimate;
    for (double* const value : {&estimate.value, &estimate.low, &estimate.high}) { *value = std::bit_cast<double>(in.number()); }
    return estimate;
}

}  // namespace

std::string to_bytes(const Found& found) {
    WireWriter out;
    out.text(found.invariant).text(found.message).text(found.mode).text(trace::to_json(found.trace));
    out.number(found.runs).number(found.decisions_found).number(found.shrink_runs);
    return std::move(out).bytes();
}

Found found_from(std::string_view bytes) {
    WireReader in(bytes);
    Found found;
    found.invariant = in.text();
    found.message = in.text();
    found.mode = in.text();
    Result<trace::Trace> trace = trace::from_json(std::string(in.text()), "a worker's trace");
    if (!trace) { throw Error(trace.error().text()); }
    found.trace = *std::move(trace);
    found.runs = in.number();
    found.decisions_found = in.number();
    found.shrink_runs = in.number();
    return found;
}

std::string to_bytes(const Report& report) {
    WireWriter out;
    out.number(report.complete).text(report.rests_on).text(report.reduction).text(report.bound);
    out.number(report.runs).number(report.traces).number(report.redundant).number(report.cut).number(report.audited);
    out.number(std::bit_cast<std::uint64_t>(report.seconds)).number(report.stopped);
    for (std::size_t kind = 0; kind < static_cast<std::size_t>(FaultKind::count_); ++kind) {
        const FaultTotals::Count& count = report.faults.of(static_cast<FaultKind>(kind));
        out.number(count.opportunities).number(count.struck);
    }
    out.number(report.violations.size());
    for (const Found& found : report.violations) { out.text(to_bytes(found)); }
    out.number(report.seen.size());
    for (const std::uint64_t hash : report.seen) { out.number(hash); }
    out.number(report.sizes.size());
    for (const TreeSize& size : report.sizes) {
        out.number(static_cast<std::uint64_t>(size.order)).number(size.probes);
        write(out, size.schedules);
        out.number(size.runs).number(std::bit_cast<std::uint64_t>(size.seconds_left));
    }
    out.number(report.risks.size());
    for (const SampleRisk& risk : report.risks) {
        out.number(static_cast<std::uint64_t>(risk.order)).number(risk.samples).number(risk.distinct);
        write(out, risk.unseen);
        out.number(std::bit_cast<std::uint64_t>(risk.violation_most)).number(risk.drawn.size());
        for (const SampleTally::Drawn& drawn : risk.drawn) { out.number(drawn.trace).number(drawn.count); }
    }
    return std::move(out).bytes();
}

Report report_from(std::string_view bytes) {
    WireReader in(bytes);
    Report report;
    report.complete = in.number() != 0;
    report.rests_on = in.text();
    report.reduction = in.text();
    report.bound = in.text();
    report.runs = in.number();
    report.traces = in.number();
    report.redundant = in.number();
    report.cut = in.number();
    report.audited = in.number();
    report.seconds = std::bit_cast<double>(in.number());
    report.stopped = in.number() != 0;
    for (std::size_t kind = 0; kind < static_cast<std::size_t>(FaultKind::count_); ++kind) {
        FaultTotals::Count& count = report.faults.of(static_cast<FaultKind>(kind));
        count.opportunities = in.number();
        count.struck = in.number();
    }
    for (std::uint64_t left = in.number(); left > 0; --left) { report.violations.push_back(found_from(in.text())); }
    if (!report.violations.empty()) { report.violation = report.violations.front(); }
    report.seen.resize(in.number());
    for (std::uint64_t& hash : report.seen) { hash = in.number(); }
    report.sizes.resize(in.number());
    for (TreeSize& size : report.sizes) {
        size.order = static_cast<trace::Order>(in.number());
        size.probes = in.number();
        size.schedules = read_estimate(in);
        size.runs = in.number();
        size.seconds_left = std::bit_cast<double>(in.number());
    }
    report.risks.resize(in.number());
    for (SampleRisk& risk : report.risks) {
        risk.order = static_cast<trace::Order>(in.number());
        risk.samples = in.number();
        risk.distinct = in.number();
        risk.unseen = read_estimate(in);
        risk.violation_most = std::bit_cast<double>(in.number());
        risk.drawn.resize(in.number());
        for (SampleTally::Drawn& drawn : risk.drawn) {
            drawn.trace = in.number();
            drawn.count = static_cast<std::uint32_t>(in.number());
        }
    }
    HEDDLE_ASSERT(in.at_end(), "a message of this program is whole");
    return report;
}

}  // namespace heddle::sim
