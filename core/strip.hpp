// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strip: a small cluster as one word of GPUs.
 *
 * With at most 64 GPUs in all the nodes stand side by side in one 64-bit mask, and the future is
 * one list of (time, free GPUs).  Which block a job may have, on which node, aligned or over whole
 * neighbours, is a mask of legal first GPUs, made once a job.  Placing a job is then the decoder's
 * own rule (earliest start, tightest node, shortest run) in a few dozen instructions a segment, so
 * that a search can try an order in a microsecond.
 *
 * What applications hold gives way: a job may also take held GPUs when the applications can have
 * as many others in those steps within their swap caps (strip_holds.cpp finds them).  So held
 * GPUs fill the holes between jobs instead of jobs those between held GPUs.
 *
 * It knows GPUs only: suits() says which snapshots have nothing else that limits.
 * Cost: O(segments × window) a job, usually one pass over the list, and O(steps × applications)
 * where held GPUs have to give way.
 */
#pragma once

#include "block.hpp"
#include "plan.hpp"
#include "policy.hpp"

#include <array>
#include <bit>
#include <memory>
#include <vector>

namespace foresight {

/// Seconds in half a word: suits() makes sure that they do.
using Time = std::int32_t;

/// What a strip has to know of a job.
struct StripJob {
    int gpus = 0;
    std::size_t slot = 0; ///< which of the sizes asked for `gpus` is
    Time duration = 0;
    int steps = 0;      ///< whole steps in the duration …
    Time rest = 0;      ///< … and the seconds left over
    Time from = 0;      ///< not before
    int from_step = 0;  ///< the step that holds it
    Time latest = 0;    ///< last legal start, the rule on overruns aside
    GpuMask starts = 0; ///< GPUs at which a block may begin
    /// ANDing a mask with itself shifted by each leaves a bit where a run of `gpus` begins.
    std::array<std::uint8_t, 6> shifts{};
};

struct StripPlace {
    Seconds start = 0;
    GpuMask gpus = 0; ///< 0: no place
};

/// What is taken so far: a view of memory that StripStates owns.
class StripState {
public:
    /// What an application holds in a step.
    [[nodiscard]] GpuMask held(std::size_t app, std::size_t step) const noexcept {
        return held_[app * sizes_->steps + step];
    }

    void assign(const StripState& other) noexcept;
    [[nodiscard]] bool operator==(const StripState& other) const noexcept;

private:
    friend class Strip;
    friend class StripStates;

    /// Free of jobs from time 0 on: a segment lasts until the next one, the last one for ever.
    struct Segment {
        Time from = 0;
        int step = 0; ///< that holds `from`
        GpuMask free = 0;

        bool operator==(const Segment&) const = default;
    };
    struct Step {
        GpuMask free = 0; ///< of jobs, all through the step
        GpuMask held = 0; ///< of those, what applications hold
        int room = 0;     ///< how many of those no application wants
    };
    /// How long the arrays of every state of a strip are.
    struct Sizes {
        std::size_t segments = 0;
        std::size_t steps = 0;
        std::size_t held = 0;
        std::size_t full = 0;
    };

    const Sizes* sizes_ = nullptr;
    std::size_t count_ = 0; ///< segments in use
    Segment* segments_ = nullptr;
    Step* steps_ = nullptr;
    GpuMask* held_ = nullptr;       ///< by application and step
    std::uint64_t* full_ = nullptr; ///< by slot, a bit a step: too little room for the size
    int overrun_gpus_ = 0;          ///< GPUs of jobs that end after the horizon
};

/// Many states in a few allocations; made by Strip::states().
class StripStates {
public:
    [[nodiscard]] StripState& operator[](std::size_t i) noexcept { return states_[i]; }
    [[nodiscard]] const StripState& operator[](std::size_t i) const noexcept { return states_[i]; }

private:
    friend class Strip;

    StripStates(const StripState::Sizes& sizes, std::size_t count);

    std::unique_ptr<StripState::Sizes> sizes_;
    std::vector<StripState> states_;
    std::unique_ptr<StripState::Segment[]> segments_;
    std::unique_ptr<StripState::Step[]> steps_;
    std::unique_ptr<GpuMask[]> held_;
    std::unique_ptr<std::uint64_t[]> full_;
};

class Strip {
public:
    /// Whether GPUs are all that limits this snapshot's jobs, and few enough.
    [[nodiscard]] static bool suits(const Snapshot& snapshot) noexcept;

    /// `holds` say how many GPUs each application is to have in each step, and on which to begin.
    Strip(const Snapshot& snapshot, const std::vector<Hold>& holds);

    [[nodiscard]] StripJob job(int index) const;
    /// States with room for every job of the snapshot.  The first one has what runs and what is
    /// held; the others are to be assigned to.
    [[nodiscard]] StripStates states(std::size_t count) const;

    /// Takes the earliest place for the job.  Adds the windows tried to `windows`.
    [[nodiscard]] StripPlace place(StripState& state, const StripJob& job, Side side,
                                   std::uint64_t& windows) noexcept;

    /// The strip's word as a set of nodes and masks.
    [[nodiscard]] GpuSet set_of(GpuMask gpus) const;

private:
    /// A job's time, and steps of the horizon.
    struct Span {
        Time start, until;
        int end_step;                ///< the step that holds `until`
        int from_step, until_step;   ///< those that it touches
        int from_whole, until_whole; ///< those that lie wholly in it
    };
    /// GPUs at which a legal block of the job begins; for Block::any, anything but 0 if it fits.
    [[nodiscard]] GpuMask blocks(GpuMask free, const StripJob& job) const noexcept {
        if (any_) {
            return count_gpus(free) >= job.gpus ? free : 0;
        }
        free &= free >> job.shifts[0];
        free &= free >> job.shifts[1];
        free &= free >> job.shifts[2];
        for (std::size_t i = 3; i < job.shifts.size() && job.shifts[i] != 0; ++i) {
            free &= free >> job.shifts[i];
        }
        return free & job.starts;
    }
    [[nodiscard]] GpuMask choose(GpuMask free, const StripJob& job, Side side) const noexcept;
    [[nodiscard]] GpuMask choose_any(GpuMask free, int gpus, Side side) const noexcept;
    [[nodiscard]] GpuMask least_held(GpuMask free, GpuMask held, const StripJob& job,
                                     Side side) const noexcept;
    [[nodiscard]] bool give_way(StripState& state, const Span& span, GpuMask gpus) noexcept;
    [[nodiscard]] Span span_of(const StripJob& job, Time start, int step) const noexcept;
    [[nodiscard]] int last_full(const StripState& state, std::size_t slot, int from,
                                int until) const noexcept;
    [[nodiscard]] GpuMask take_at(StripState& state, const StripJob& job, Side side,
                                  std::size_t first, std::size_t next, const Span& span,
                                  GpuMask window) noexcept;
    void next_start(const StripState& state, int after, std::size_t& first, Time& start,
                    int& step) const noexcept;
    void take(StripState& state, std::size_t first, std::size_t next, const Span& span,
              GpuMask gpus) const noexcept;
    void take_steps(StripState& state, const Span& span, GpuMask gpus) const noexcept;
    void find_full(StripState& state, int step, int before, int now) const noexcept;
    [[nodiscard]] int whole_step(Seconds time) const noexcept {
        return static_cast<int>(time / step_);
    }
    [[nodiscard]] GpuMask starts_for(int gpus) const noexcept;

    // strip_holds.cpp
    class Fitter;
    [[nodiscard]] bool shift_holds(StripState& state, std::size_t from_step,
                                   std::size_t until_step) const noexcept;

    const Snapshot& snapshot_;
    bool any_; ///< no shape: any GPUs make a block
    Time step_;
    Time horizon_;
    int steps_;
    std::size_t words_;                        ///< 64-bit words for a bit a step
    std::vector<int> sizes_;                   ///< GPUs that jobs ask for, each once
    std::vector<int> base_;                    ///< by node: its first GPU's number
    std::vector<GpuMask> node_;                ///< by node: its GPUs
    std::vector<int> want_;                    ///< by application and step: GPUs that it is to have
    std::vector<GpuMask> held_;                ///< the same: on which it is to begin
    std::vector<GpuMask> first_held_;          ///< by application: before step 0
    std::vector<std::size_t> by_weight_;       ///< applications, the highest priority first
    std::vector<StripState::Segment> running_; ///< what runs leaves
    int largest_ = 0;                          ///< GPUs of the largest node
    int overrun_gpus_ = 0;                     ///< of running jobs
    int overrun_room_ = 0;
    /// Scratch of give_way(): what to go back to.
    std::vector<StripState::Step> steps_before_;
    std::vector<GpuMask> held_before_;
    std::vector<std::uint64_t> full_before_;
};

} // namespace foresight
