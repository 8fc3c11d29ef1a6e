// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds on a strip, fitted around the jobs that have a place.
 *
 * Application by application, from the first step that a new job touches: what was held and is
 * still free stays; what is missing is taken where it stays free the longest (Belady 1966 for the
 * rule), so that few swaps follow; what is too much is given up where it would be lost first.
 * When a step would need more swaps than the cap allows, a GPU is taken some steps earlier, where
 * swaps are left, and held until then.  Once the steps that changed are over and the same GPUs
 * are held as before, so is the rest.  Not complete: it may miss a legal set of holds.
 * Cost: O(steps changed) an application, and O(steps) for each GPU that is taken or given up.
 */
#include "strip.hpp"

#include <algorithm>

namespace foresight {

/// Gives one application its GPUs again, out of what jobs and applications before it leave.
class Strip::Fitter {
public:
    Fitter(const Strip& strip, StripState& state, std::size_t rank) noexcept
        : strip_(strip), state_(state), rank_(rank), app_(strip.by_weight_[rank]),
          steps_(static_cast<std::size_t>(strip.steps_)), cap_(strip.snapshot_.apps[app_].max_swap),
          bounded_at_0_(strip.snapshot_.apps[app_].held.has_value()),
          held_(&state.held_[app_ * steps_]), want_(&strip.want_[app_ * steps_]) {}

    /// What is available has changed during [from, until); widens that to where its holds changed.
    [[nodiscard]] bool fit(std::size_t& from, std::size_t& until) noexcept {
        first_ = from;
        GpuMask before = from > 0 ? held_[from - 1] : strip_.first_held_[app_];
        std::size_t step = from;
        for (; step < steps_; ++step) {
            const GpuMask old = held_[step];
            const GpuMask here = available(step);
            // What it had stays wherever that is legal: nearly always.
            GpuMask now = old;
            if ((old & ~here) != 0 || count_gpus(before ^ old) > cap(step)) {
                now = before & here;
                if (!change(step, here, before, now)) {
                    return false;
                }
            }
            held_[step] = now;
            before = now;
            if (step >= until && now == old) {
                break;
            }
        }
        from = std::min(from, first_);
        until = std::max(until, step);
        return true;
    }

private:
    /// From `before` to as many GPUs as are wanted; `now` is what stays of them.
    [[nodiscard]] bool change(std::size_t step, GpuMask here, GpuMask before,
                              GpuMask& now) noexcept {
        std::int64_t left = cap(step) - count_gpus(before ^ now);
        int missing = want_[step] - count_gpus(now);
        for (; missing < 0 && left > 0; ++missing, --left) {
            now ^= lost_first(now, step);
        }
        for (; missing > 0 && left > 0; --missing, --left) {
            const GpuMask more = here & ~now;
            if (more == 0) {
                return false;
            }
            now |= free_longest(more, step);
        }
        for (; missing > 0; --missing) {
            // A swap more of an earlier step instead of one of this.
            const GpuMask early = take_before(step, here & ~now);
            if (early == 0) {
                return false;
            }
            now |= early;
        }
        return left >= 0;
    }

    [[nodiscard]] GpuMask available(std::size_t step) const noexcept {
        GpuMask free = state_.steps_[step].free;
        for (std::size_t rank = 0; rank < rank_; ++rank) {
            free &= ~state_.held_[strip_.by_weight_[rank] * steps_ + step];
        }
        return free;
    }

    [[nodiscard]] std::int64_t cap(std::size_t step) const noexcept {
        return step == 0 && !bounded_at_0_ ? kUnlimited : cap_;
    }

    /// Of these GPUs the one that stays available longest after the step; the highest of equals.
    [[nodiscard]] GpuMask free_longest(GpuMask gpus, std::size_t step) const noexcept {
        while (++step < steps_ && (gpus & available(step)) != 0) {
            gpus &= available(step);
        }
        return std::bit_floor(gpus);
    }

    /// Of these GPUs the one that is no longer available first; the lowest of equals.
    [[nodiscard]] GpuMask lost_first(GpuMask gpus, std::size_t step) const noexcept {
        while (++step < steps_) {
            if (const GpuMask lost = gpus & ~available(step); lost != 0) {
                gpus = lost;
                break;
            }
        }
        return gpus & (~gpus + 1);
    }

    /// Holds one of these GPUs already from an earlier step on that has a swap left.
    GpuMask take_before(std::size_t step, GpuMask gpus) noexcept {
        const std::size_t wanted_at = step;
        while (step-- > 0) {
            gpus &= available(step) & ~held_[step];
            if (gpus == 0) {
                return 0;
            }
            const GpuMask before = step > 0 ? held_[step - 1] : strip_.first_held_[app_];
            if (count_gpus(before ^ held_[step]) < cap(step)) {
                const GpuMask taken = free_longest(gpus, wanted_at);
                for (std::size_t i = step; i < wanted_at; ++i) {
                    held_[i] |= taken;
                }
                first_ = std::min(first_, step);
                return taken;
            }
        }
        return 0;
    }

    const Strip& strip_;
    StripState& state_;
    std::size_t rank_;
    std::size_t app_;
    std::size_t steps_;
    std::int64_t cap_;
    bool bounded_at_0_;
    GpuMask* held_;
    const int* want_;
    std::size_t first_ = 0; ///< the first step whose holds it changed
};

/// Gives every application its GPUs again after jobs took some in these steps.  False when it
/// found no way; the holds are then spoilt.
FORESIGHT_HOT
bool Strip::shift_holds(StripState& state, std::size_t from_step,
                        std::size_t until_step) const noexcept {
    for (std::size_t rank = 0; rank < by_weight_.size(); ++rank) {
        if (!Fitter(*this, state, rank).fit(from_step, until_step)) {
            return false;
        }
    }
    const auto steps = static_cast<std::size_t>(steps_);
    for (std::size_t step = from_step; step < std::min(until_step + 1, steps); ++step) {
        GpuMask held = 0;
        for (std::size_t i = step; i < held_.size(); i += steps) {
            held |= state.held_[i];
        }
        state.steps_[step].held = held;
    }
    return true;
}

} // namespace foresight
