// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decode: an order of jobs becomes a schedule.
 *
 * Serial schedule generation: each job in turn gets its earliest legal place among those before it
 * (Kolisch 1996), which is conservative backfill when the order is the queue's.  With a bounded
 * number of holds it is EASY (Lifka 1995) generalised: at each event jobs start in order, the
 * first `holds` that cannot keep a place ahead, and the others may only use what is left.
 *
 * Jobs of one shape share what they learnt: places only fill up during a decode, so no job of the
 * shape has to look before the last place that was found.  Cost: O(jobs × nodes × segments).
 */
#pragma once

#include "learnt.hpp"
#include "place.hpp"
#include "plan.hpp"
#include "policy.hpp"
#include "value.hpp"

#include <atomic>

namespace foresight {

/// Array tasks that one plan looks at; the rest follow as those start.
inline constexpr int kMostTasks = 256;

/// Sizes of blocks on one node that jobs of the queue ask for, ascending.
[[nodiscard]] std::vector<int> block_sizes(const Snapshot& snapshot);

struct Decoded {
    std::vector<Placement> placements; ///< in the order in which they were decided
    double value = 0;                  ///< rewards of the batch jobs, their priorities grown by age
};

/// Gives places before any order is followed, as what a plan keeps of the one before (memory.hpp).
/// It takes them from the profile and appends them to `pinned`.
class Pinner {
public:
    virtual ~Pinner() = default;
    /// Before the applications' holds are planned: these go around what is pinned here …
    virtual void before_holds(Profile& profile, Placer& placer, std::vector<Placement>& pinned);
    /// … and after.
    virtual void after_holds(Profile& profile, Placer& placer, std::vector<Placement>& pinned);
};

class Decoder {
public:
    Decoder(const Snapshot& snapshot, const Policy& policy, const std::atomic<bool>* cancel);

    /// Jobs of applications placed, holds and pinned places taken: what every decode starts from.
    void prepare(Pinner* pinner = nullptr);

    [[nodiscard]] const std::vector<Hold>& holds() const noexcept { return holds_; }
    /// What runs and what applications hold, without any batch job.
    [[nodiscard]] const Profile& base() const noexcept { return base_; }
    [[nodiscard]] std::uint64_t work() const noexcept { return placer_.work(); }
    [[nodiscard]] Placer& placer() noexcept { return placer_; }
    [[nodiscard]] const std::atomic<bool>* cancel() const noexcept { return cancel_; }
    [[nodiscard]] const Weights& weights() const noexcept { return weights_; }
    [[nodiscard]] bool cancelled() const noexcept {
        return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed);
    }

    [[nodiscard]] Decoded decode(const std::vector<Entry>& order);

private:
    void number_shapes();
    void decode_all(const std::vector<Entry>& order, Decoded& decoded);
    void decode_by_event(const std::vector<Entry>& order, Decoded& decoded);
    bool start_at(const std::vector<Entry>& order, Seconds now, std::vector<int>& left,
                  Decoded& decoded);
    void place_entry(const Entry& entry, Decoded& decoded);
    [[nodiscard]] std::optional<Placement> find(const Entry& entry, Seconds from, Seconds latest);
    void commit(Placement placement, Decoded& decoded);
    void give_first(const std::vector<Placement>& places, Decoded& decoded);
    [[nodiscard]] Seconds first_start(const Job& job) const noexcept;
    [[nodiscard]] Seconds last_start(const Option& option) const noexcept;
    [[nodiscard]] Seconds next_event(Seconds after) const;
    [[nodiscard]] const Job& job_at(int index) const noexcept {
        return snapshot_.jobs[static_cast<std::size_t>(index)];
    }

    const Snapshot& snapshot_;
    const Policy& policy_;
    const std::atomic<bool>* cancel_;
    Weights weights_;
    Placer placer_;
    Profile base_;
    Profile profile_;
    std::vector<Hold> holds_;
    std::vector<Placement> own_;                      ///< the applications' own jobs
    std::vector<Placement> pinned_;                   ///< given before any order
    std::vector<double> worth_;                       ///< by job: its aged priority
    std::vector<std::vector<int>> shape_of_;          ///< by job and option
    std::vector<Learnt> learnt_;                      ///< by shape
    std::vector<std::vector<std::size_t>> places_of_; ///< by job: indices into placements
};

} // namespace foresight
