/*
 * CurveSource: see curve_source.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "curve_source.hpp"

#include "error.hpp"

#include <utility>

namespace foresight::io {

namespace {

constexpr mode_t kPrivate = 0600;
constexpr std::size_t kLargestCurve = std::size_t{64} << 20U;

} // namespace

void keep_copy(const std::string& path, const std::string& text, std::string& problem) {
    try {
        if (stamp_of(path).exists && read_file(path) == text) {
            return;
        }
        write_file(path, text, kPrivate, Sync::disk);
    } catch (const InputError& error) {
        add_problem(problem, std::string("the last good copy is not kept: ") + error.what());
    }
}

CurveSource::CurveSource(DemandCurve curve)
    : curve_(std::make_shared<const DemandCurve>(std::move(curve))) {}

CurveSource::CurveSource(std::string path, std::string kept, const std::string& app,
                         std::int64_t now, std::string& problem)
    : path_(std::move(path)), kept_(std::move(kept)) {
    try {
        load(now, problem);
    } catch (const InputError& error) {
        counters_.last_error = error.what();
        ++counters_.failures;
        recall();
        add_problem(problem, std::string(error.what()) +
                                 (curve_ ? " (the last good curve of " : " (no curve for ") + app +
                                 (curve_ ? " stays in force)" : " yet)"));
    }
}

/// Replaces the curve by what its file says now; throws InputError and leaves it as it is.
void CurveSource::load(std::int64_t now, std::string& problem) {
    ++counters_.fetches;
    stamp_ = stamp_of(path_);
    const std::string text = read_file(path_, kLargestCurve);
    curve_ = std::make_shared<const DemandCurve>(DemandCurve::parse(text, shown_name(path_)));
    counters_.last_good = now;
    counters_.last_error.clear();
    if (!kept_.empty()) {
        keep_copy(kept_, text, problem);
    }
}

/// The curve that worked before, when the file does not.
void CurveSource::recall() {
    if (kept_.empty()) {
        return;
    }
    try {
        curve_ = std::make_shared<const DemandCurve>(
            DemandCurve::parse(read_file(kept_, kLargestCurve), shown_name(kept_)));
    } catch (const InputError&) {
        curve_ = nullptr;
    }
}

bool CurveSource::refresh(std::int64_t now, std::string& problem) {
    if (path_.empty() || stamp_of(path_) == stamp_) {
        return false;
    }
    try {
        load(now, problem);
        return true;
    } catch (const InputError& error) {
        ++counters_.failures;
        counters_.last_error = error.what();
        add_problem(problem, std::string(error.what()) + " (the curve in force stays)");
        return false;
    }
}

Reading CurveSource::read(std::int64_t now) const {
    Reading reading;
    reading.counters = counters_;
    if (!curve_) {
        reading.state = Reading::State::stale;
        return reading;
    }
    reading.state = counters_.last_error.empty() ? Reading::State::fresh : Reading::State::held;
    reading.curve = curve_;
    reading.level = curve_->over(now, 1, 1).front();
    return reading;
}

} // namespace foresight::io
