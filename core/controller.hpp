// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DemandController: how many GPUs an application is to hold in each step ahead.
 *
 * What it makes is the demand curve of an App (model.hpp).  The plan keeps GPUs for it, and
 * whatever the curve leaves of the application's peak is idle, may be lent, and for how long.  A
 * loan to a job of length L is so judged at the quantile for the leads up to L.
 *
 * A GPU that is missing in ten minutes is missed for sure; one that is missing in three hours can
 * still be had back from what ends before.  So the chance that demand is above the curve may be
 * five times as large from an hour ahead on as it is at once, where it is 1 - quantile.
 *
 * Growth comes early by the lead time; what was wanted once is held for the hold time, in the past
 * as in the curve, so that noise causes no flapping.  What is known decides how far to trust:
 *
 *     known      the forecast, and never below the level now
 *     held       the last try for a value failed: nothing shrinks, growth is as forecast
 *     stale      failing for long: the static peak, as if nobody had ever forecast
 *     nothing    no value ever: the static peak
 *
 * A forecast is not trusted farther ahead than half of what was seen, from there on the static
 * peak stands: on the first day nothing is lent for long.
 *
 * No clock: the caller says what time it is.  Cost: O(windows × forecasters) a curve.
 */
#pragma once

#include "conversion.hpp"
#include "forecast.hpp"
#include "series.hpp"

#include <deque>
#include <limits>
#include <vector>

namespace foresight {

struct ControlRule {
    Conversion conversion;  ///< of the series' unit into GPUs, and the least and the most of them
    double quantile = 0.99; ///< chance that the next window's demand is no more than the curve
    Seconds lead_time = 0;  ///< GPUs are held so long before demand needs them
    Seconds hold_time = 0;  ///< … and so long after the curve could come down
    int peak = 0;           ///< what is held where nothing is known: the static size
};

/// What a source tells at one moment.
struct DemandNow {
    enum class State { known, held, stale };

    State state = State::known;
    double level = std::numeric_limits<double>::quiet_NaN(); ///< the newest value, in its own unit
    int held = 0;                                            ///< GPUs that the application has now
};

/// Steps that a curve is wanted for; times since the epoch.
struct StepGrid {
    Seconds from = 0; ///< start of the first
    Seconds step = 0;
    int steps = 0;
};

class DemandController {
public:
    /// `window`: of the series that it will learn from, 60 seconds to an hour.
    DemandController(const ControlRule& rule, Seconds window);

    /// Learns the windows of a series that it has not seen.  A series of another window length, or
    /// one that does not reach up to what was seen, is learnt from the start.
    void learn(const Series& series);
    /// One window more; NaN where its value is not known.
    void observe(double value);

    /// GPUs to hold in each step, within [MinGpus, MaxGpus].  `now` lies in the first step; calls
    /// come in the order of time.
    [[nodiscard]] std::vector<int> curve(const DemandNow& demand, Seconds now,
                                         const StepGrid& grid);

    /// The curve without hold time and level: GPUs at the quantile, by window ahead of what was
    /// learnt; empty while nothing is known.
    [[nodiscard]] std::vector<int> forecast(int windows) const;

    /// The chance that it allows demand to be above the curve, at a lead.
    [[nodiscard]] double risk(Seconds lead) const noexcept;

    [[nodiscard]] const ControlRule& rule() const noexcept { return rule_; }
    void set_rule(const ControlRule& rule) { rule_ = rule; }

private:
    struct Wanted {
        Seconds at = 0;
        int gpus = 0;
    };

    [[nodiscard]] bool known() const noexcept { return seen_ > 0; }
    [[nodiscard]] std::vector<int> ahead(Seconds from, const StepGrid& grid) const;
    void hold(int wanted, Seconds now, const StepGrid& grid, std::vector<int>& curve);

    ControlRule rule_;
    Forecaster forecaster_;
    Seconds learnt_until_ = 0;  ///< end of the last window seen
    Seconds seen_ = 0;          ///< length of what was seen since the first value; 0: none yet
    std::deque<Wanted> wanted_; ///< of the last hold time, times and GPUs descending
};

} // namespace foresight
