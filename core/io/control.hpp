/*
 * Control: one application's demand, from what its source tells to GPUs in each step ahead.
 *
 * A known curve (a file, a constant) is taken as it is, earlier by LeadTime= and longer by
 * HoldTime=.  What is measured goes to a DemandController, which forecasts.
 *
 * update() learns and forecasts, milliseconds mostly, a second or two for a long past that is new;
 * wanted() only reads memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../controller.hpp"
#include "settings.hpp"
#include "source.hpp"

#include <optional>
#include <vector>

namespace foresight::io {

class Control {
public:
    explicit Control(const RealtimeSettings& app);

    /// The same application under other settings of the same source: what was learnt stays.
    void set(const RealtimeSettings& app);

    /// Takes what the source tells at `now` (seconds since the epoch), for a plan on a grid of
    /// `step` seconds that reaches `horizon` seconds ahead.  True when another curve came of it.
    bool update(const Reading& reading, std::int64_t now, Seconds step, Seconds horizon);

    /// GPUs wanted in each step of the grid that begins at `origin`, the largest of the step.
    /// False when nothing is known, or nothing good since long: it is the static peak then.
    bool wanted(std::int64_t origin, Seconds step, std::vector<std::int32_t>& demand) const;

    /// GPUs that the application's jobs hold now.
    void sample(std::int32_t gpus) noexcept { used_ = gpus; }

    /// What it makes of the last reading.
    [[nodiscard]] const Reading& reading() const noexcept { return reading_; }
    /// MaxGpus= where the settings have one, else MinGpus=: the size while nothing is known.
    [[nodiscard]] std::int32_t peak() const noexcept { return rule_.peak; }
    [[nodiscard]] const Conversion& conversion() const noexcept { return rule_.conversion; }

private:
    /// A curve that was made, and what of.
    struct Made {
        StepGrid grid;
        std::vector<int> curve;
        std::int64_t time = 0;
        Reading reading;
        std::int32_t used = 0;

        [[nodiscard]] bool at(std::int64_t origin, Seconds step,
                              std::vector<std::int32_t>& demand) const;
    };

    [[nodiscard]] bool is_fresh(std::int64_t now, Seconds step, Seconds horizon) const;
    [[nodiscard]] bool along_curve(std::int64_t origin, Seconds step,
                                   std::vector<std::int32_t>& demand) const;

    ControlRule rule_;
    std::optional<DemandController> controller_; ///< where demand is measured
    Reading reading_;
    std::int32_t used_ = 0;
    Made made_;
};

} // namespace foresight::io
