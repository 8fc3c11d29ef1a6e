// SPDX-License-Identifier: GPL-2.0-or-later
#include "strip.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace foresight {

namespace {

/// More jobs make a trial too long for the search that a strip is for.
constexpr std::size_t kMostJobs = 256;
constexpr int kMostGpus = 64;
/// Two of these, a start and a duration, still go into a Time.
constexpr Seconds kLongestTime = std::numeric_limits<Time>::max() / 4;

/// A share that limits nothing but GPUs, anywhere.
bool plain(const Request& request) noexcept {
    return request.chunk == Amount{1, 0, 0} && request.chunks >= 1 &&
           request.chunks_per_node_max >= kMostGpus && request.nodes_min <= 1 &&
           request.nodes_max >= kMostGpus && request.per_node == Amount{} && !request.whole_nodes &&
           request.gpu_type < 0;
}

bool everywhere(const Snapshot& snapshot, int node_class) noexcept {
    const NodeClass& nodes = snapshot.classes[static_cast<std::size_t>(node_class)];
    return nodes.nodes.size() == snapshot.nodes.size() && nodes.closures.empty();
}

bool plain(const Snapshot& snapshot, const Job& job) noexcept {
    return job.tasks == 1 && job.app < 0 && job.options.size() == 1 && job.limits.empty() &&
           !job.refusal && job.options[0].duration > 0 && job.options[0].duration < kLongestTime &&
           job.options[0].refused_on.empty() && plain(job.options[0].request) &&
           everywhere(snapshot, job.options[0].node_class);
}

GpuMask highest_of(GpuMask free, int count) noexcept {
    GpuMask chosen = 0;
    for (; count > 0; --count) {
        const GpuMask bit = GpuMask{1} << (std::bit_width(free) - 1);
        chosen |= bit;
        free ^= bit;
    }
    return chosen;
}

GpuMask shift_up(GpuMask gpus, int count) noexcept {
    return count >= kMostGpus ? 0 : gpus << count;
}

} // namespace

void StripState::assign(const StripState& other) noexcept {
    count_ = other.count_;
    overrun_gpus_ = other.overrun_gpus_;
    std::copy_n(other.segments_, count_, segments_);
    std::copy_n(other.steps_, sizes_->steps, steps_);
    std::copy_n(other.held_, sizes_->held, held_);
    std::copy_n(other.full_, sizes_->full, full_);
}

bool StripState::operator==(const StripState& other) const noexcept {
    // The steps follow from the segments and from what is held.
    return count_ == other.count_ && std::equal(segments_, segments_ + count_, other.segments_) &&
           std::equal(held_, held_ + sizes_->held, other.held_);
}

StripStates::StripStates(const StripState::Sizes& sizes, std::size_t count)
    : sizes_(std::make_unique<StripState::Sizes>(sizes)), states_(count),
      segments_(std::make_unique_for_overwrite<StripState::Segment[]>(count * sizes.segments)),
      steps_(std::make_unique_for_overwrite<StripState::Step[]>(count * sizes.steps)),
      held_(std::make_unique_for_overwrite<GpuMask[]>(count * sizes.held)),
      full_(std::make_unique_for_overwrite<std::uint64_t[]>(count * sizes.full)) {
    for (std::size_t i = 0; i < count; ++i) {
        StripState& state = states_[i];
        state.sizes_ = sizes_.get();
        state.segments_ = &segments_[i * sizes.segments];
        state.steps_ = &steps_[i * sizes.steps];
        state.held_ = &held_[i * sizes.held];
        state.full_ = &full_[i * sizes.full];
    }
}

bool Strip::suits(const Snapshot& snapshot) noexcept {
    int gpus = 0;
    for (const Node& node : snapshot.nodes) {
        gpus += node.gpus;
        if (node.gpus < 1 || gpus > kMostGpus) {
            return false;
        }
    }
    return gpus > 0 && snapshot.steps > 0 && snapshot.horizon() < kLongestTime &&
           snapshot.jobs.size() <= kMostJobs &&
           std::all_of(snapshot.jobs.begin(), snapshot.jobs.end(),
                       [&](const Job& job) { return plain(snapshot, job); }) &&
           std::all_of(snapshot.running.begin(), snapshot.running.end(),
                       [](const Running& job) { return job.app < 0; }) &&
           std::all_of(snapshot.apps.begin(), snapshot.apps.end(), [&](const App& app) {
               return app.per_gpu == Amount{} &&
                      (app.node_class < 0 || everywhere(snapshot, app.node_class));
           });
}

Strip::Strip(const Snapshot& snapshot, const std::vector<Hold>& holds)
    : snapshot_(snapshot), any_(snapshot.block == Block::any),
      step_(static_cast<Time>(snapshot.step)), horizon_(static_cast<Time>(snapshot.horizon())),
      steps_(snapshot.steps), words_((static_cast<std::size_t>(snapshot.steps) + 63) / 64) {
    int base = 0;
    GpuMask usable = 0;
    for (const Node& node : snapshot.nodes) {
        base_.push_back(base);
        node_.push_back(lowest_gpus(node.gpus) << base);
        usable |= (lowest_gpus(node.gpus) & node.usable) << base;
        base += node.gpus;
        largest_ = std::max(largest_, node.gpus);
    }
    overrun_room_ = base;
    for (const App& app : snapshot.apps) {
        overrun_room_ -=
            app.demand.empty() ? 0 : *std::max_element(app.demand.begin(), app.demand.end());
    }
    // From the end back: a GPU is free again when the last of its jobs is over.
    std::vector<std::pair<Seconds, GpuMask>> ends;
    for (const Running& job : snapshot.running) {
        GpuMask gpus = 0;
        for (const Share& share : job.shares) {
            gpus |= share.gpus << base_[static_cast<std::size_t>(share.node)];
        }
        if (job.end > 0) {
            ends.emplace_back(std::min(job.end, 2 * kLongestTime), gpus);
        }
        overrun_gpus_ += job.end > snapshot.horizon() ? count_gpus(gpus) : 0;
    }
    std::sort(ends.begin(), ends.end());
    running_.resize(ends.size() + 1);
    for (std::size_t i = ends.size() + 1; i-- > 0;) {
        const Seconds from = i == 0 ? 0 : ends[i - 1].first;
        running_[i] = {static_cast<Time>(from), whole_step(from),
                       i == ends.size() ? usable : running_[i + 1].free & ~ends[i].second};
    }
    for (const Job& job : snapshot.jobs) {
        sizes_.push_back(job.options[0].request.gpus());
    }
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
    for (std::size_t app = 0; app < snapshot.apps.size(); ++app) {
        for (const GpuSet& set : holds[app].steps) {
            GpuMask gpus = 0;
            for (const auto& [node, mask] : set) {
                gpus |= mask << base_[static_cast<std::size_t>(node)];
            }
            held_.push_back(gpus);
            want_.push_back(count_gpus(gpus));
        }
        GpuMask gpus = 0;
        if (snapshot.apps[app].held) {
            for (const auto& [node, mask] : *snapshot.apps[app].held) {
                gpus |= mask << base_[static_cast<std::size_t>(node)];
            }
        }
        first_held_.push_back(gpus);
        by_weight_.push_back(app);
    }
    std::stable_sort(by_weight_.begin(), by_weight_.end(), [&](std::size_t a, std::size_t b) {
        return snapshot.apps[a].priority > snapshot.apps[b].priority;
    });
    steps_before_.resize(static_cast<std::size_t>(snapshot.steps));
    held_before_.resize(held_.size());
    full_before_.resize(words_ * sizes_.size());
}

GpuMask Strip::starts_for(int gpus) const noexcept {
    const int all = base_.back() + snapshot_.nodes.back().gpus;
    GpuMask starts = 0;
    for (std::size_t node = 0; node < base_.size(); ++node) {
        if (gpus > largest_) { // whole neighbours, from the first GPU of a node on
            starts |= base_[node] + gpus <= all ? GpuMask{1} << base_[node] : 0;
            continue;
        }
        const int step = snapshot_.block == Block::aligned
                             ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(gpus)))
                             : 1;
        for (int first = 0; first + gpus <= snapshot_.nodes[node].gpus; first += step) {
            starts |= GpuMask{1} << (base_[node] + first);
        }
    }
    return starts;
}

StripJob Strip::job(int index) const {
    const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
    const Option& option = job.options[0];
    const int gpus = option.request.gpus();
    const Seconds latest = snapshot_.fit == Fit::within_horizon
                               ? snapshot_.horizon() - option.duration
                               : snapshot_.horizon() - 1;
    const Seconds from = std::min(std::max({snapshot_.now, job.submit, job.begin}), kLongestTime);
    StripJob made{.gpus = gpus,
                  .slot = static_cast<std::size_t>(
                      std::lower_bound(sizes_.begin(), sizes_.end(), gpus) - sizes_.begin()),
                  .duration = static_cast<Time>(option.duration),
                  .steps = whole_step(option.duration),
                  .rest = static_cast<Time>(option.duration % step_),
                  .from = static_cast<Time>(from),
                  .from_step = whole_step(from),
                  .latest = static_cast<Time>(latest),
                  .starts = any_ || gpus > kMostGpus ? 0 : starts_for(gpus)};
    std::size_t i = 0;
    for (int length = 1; length < std::min(gpus, kMostGpus); ++i) {
        const int shift = std::min(length, gpus - length);
        made.shifts[i] = static_cast<std::uint8_t>(shift);
        length += shift;
    }
    return made;
}

StripStates Strip::states(std::size_t count) const {
    const auto steps = static_cast<std::size_t>(steps_);
    StripStates states({running_.size() + 2 * snapshot_.jobs.size() + 2, steps, held_.size(),
                        words_ * sizes_.size()},
                       count);
    StripState& state = states[0];
    state.count_ = running_.size();
    std::copy(running_.begin(), running_.end(), state.segments_);
    std::copy(held_.begin(), held_.end(), state.held_);
    std::fill_n(state.full_, words_ * sizes_.size(), 0);
    state.overrun_gpus_ = overrun_gpus_;
    std::size_t run = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        // What runs only ever ends: what is free when the step begins stays free.
        const Seconds begin = std::max(snapshot_.now, static_cast<Seconds>(step) * snapshot_.step);
        while (run + 1 < running_.size() && running_[run + 1].from <= begin) {
            ++run;
        }
        StripState::Step& info = state.steps_[step];
        info = {running_[run].free, 0, count_gpus(running_[run].free)};
        for (std::size_t i = step; i < held_.size(); i += steps) {
            info.held |= held_[i];
            info.room -= want_[i];
        }
        find_full(state, static_cast<int>(step), kMostGpus, info.room);
    }
    return states;
}

GpuMask Strip::choose_any(GpuMask free, int gpus, Side side) const noexcept {
    int best = -1;
    int least = std::numeric_limits<int>::max();
    for (std::size_t node = 0; node < node_.size(); ++node) {
        const int count = count_gpus(free & node_[node]);
        if (count >= gpus && count < least) {
            best = static_cast<int>(node);
            least = count;
        }
    }
    const GpuMask pool = best >= 0 ? free & node_[static_cast<std::size_t>(best)] : free;
    return side == Side::high ? highest_of(pool, gpus) : lowest_of(pool, gpus);
}

GpuMask Strip::choose(GpuMask free, const StripJob& job, Side side) const noexcept {
    if (snapshot_.block == Block::any) {
        return choose_any(free, job.gpus, side);
    }
    const GpuMask starts = blocks(free, job);
    const GpuMask shape = lowest_gpus(job.gpus);
    if (side == Side::low || (starts & (starts - 1)) == 0) {
        return shape << std::countr_zero(starts);
    }
    if (side == Side::high) {
        return shape << (std::bit_width(starts) - 1);
    }
    // The tightest node first, as the decoder: then the shortest run of it, since the rest of a run
    // is cut off with the block.
    GpuMask there = 0;
    int least = std::numeric_limits<int>::max();
    for (const GpuMask node : node_) {
        if ((starts & node) != 0 && count_gpus(free & node) < least) {
            there = free & node;
            least = count_gpus(there);
        }
    }
    if (job.gpus > largest_) {
        return shape << std::countr_zero(starts); // whole neighbours: the lowest
    }
    GpuMask chosen = 0;
    least = std::numeric_limits<int>::max();
    for (GpuMask here = starts & there; here != 0;) {
        const int start = std::countr_zero(here);
        const int above = std::countr_one(there >> start);
        const int below = start == 0 ? 0 : std::countl_one(there << (kMostGpus - start));
        if (above + below < least) {
            least = above + below;
            chosen = shape << start;
        }
        here &= shift_up(~GpuMask{0}, start + above);
    }
    return chosen;
}

/// The legal block that takes the fewest held GPUs.
GpuMask Strip::least_held(GpuMask free, GpuMask held, const StripJob& job,
                          Side side) const noexcept {
    if (any_) {
        const int spare = count_gpus(free & ~held);
        return (free & ~held) | (side == Side::high ? highest_of(free & held, job.gpus - spare)
                                                    : lowest_of(free & held, job.gpus - spare));
    }
    const GpuMask shape = lowest_gpus(job.gpus);
    GpuMask chosen = 0;
    int least = std::numeric_limits<int>::max();
    for (GpuMask starts = blocks(free, job); starts != 0; starts &= starts - 1) {
        const GpuMask block = shape << std::countr_zero(starts);
        const int count = count_gpus(block & held);
        if (count < least || (count == least && side == Side::high)) {
            least = count;
            chosen = block;
        }
    }
    return chosen;
}

Strip::Span Strip::span_of(const StripJob& job, Time start, int step) const noexcept {
    const Time inside = start - step * step_;
    const bool carry = inside + job.rest >= step_;
    const int until_whole = step + job.steps + (carry ? 1 : 0);
    const bool part = inside + job.rest > (carry ? step_ : 0);
    return {start,
            start + job.duration,
            until_whole,
            step,
            std::min(until_whole + (part ? 1 : 0), steps_),
            step + (inside > 0 ? 1 : 0),
            std::min(until_whole, steps_)};
}

/// The last of these steps that has too little room for the size, or -1.
int Strip::last_full(const StripState& state, std::size_t slot, int from,
                     int until) const noexcept {
    if (from >= until) {
        return -1;
    }
    const std::uint64_t* const full = &state.full_[slot * words_];
    const int first = from / 64;
    for (int word = (until - 1) / 64; word >= first; --word) {
        std::uint64_t bits = full[word];
        if (word == (until - 1) / 64) {
            bits &= ~std::uint64_t{0} >> (63 - (until - 1) % 64);
        }
        if (word == first) {
            bits &= ~std::uint64_t{0} << (from % 64);
        }
        if (bits != 0) {
            return word * 64 + static_cast<int>(std::bit_width(bits)) - 1;
        }
    }
    return -1;
}

/// A step's room has fallen: it is full now for more sizes.
void Strip::find_full(StripState& state, int step, int before, int now) const noexcept {
    for (std::size_t slot = sizes_.size(); slot-- > 0 && sizes_[slot] > now;) {
        if (sizes_[slot] <= before) {
            state.full_[slot * words_ + static_cast<std::size_t>(step) / 64] |= std::uint64_t{1}
                                                                                << (step % 64);
        }
    }
}

void Strip::take_steps(StripState& state, const Span& span, GpuMask gpus) const noexcept {
    for (int step = span.from_step; step < span.until_step; ++step) {
        StripState::Step& info = state.steps_[step];
        const int before = info.room;
        info.room -= count_gpus(info.free & gpus);
        info.free &= ~gpus;
        find_full(state, step, before, info.room);
    }
}

/// Takes GPUs from segments first … next-1, split where the span begins and ends inside one.
void Strip::take(StripState& state, std::size_t first, std::size_t next, const Span& span,
                 GpuMask gpus) const noexcept {
    StripState::Segment* const segments = state.segments_;
    const bool head = segments[first].from < span.start;
    const bool tail = next == state.count_ || segments[next].from > span.until;
    // Both splits in one go over what follows.
    const std::size_t shift = (head ? 1 : 0) + (tail ? 1 : 0);
    std::copy_backward(segments + next, segments + state.count_, segments + state.count_ + shift);
    if (tail) {
        segments[next + shift - 1] = {span.until, span.end_step, segments[next - 1].free};
    }
    if (head) {
        std::copy_backward(segments + first, segments + next, segments + next + 1);
        ++first;
        ++next;
        segments[first].from = span.start;
        segments[first].step = span.from_step;
    }
    for (std::size_t i = first; i < next; ++i) {
        segments[i].free &= ~gpus;
    }
    state.count_ += shift;
}

/// Takes GPUs in these steps, some of them held, if the applications can have others; else
/// changes nothing.
bool Strip::give_way(StripState& state, const Span& span, GpuMask gpus) noexcept {
    for (int step = span.from_step; step < span.until_step; ++step) {
        const StripState::Step& info = state.steps_[step];
        if (count_gpus(info.free & gpus) > info.room) {
            return false;
        }
    }
    std::copy_n(state.steps_, steps_before_.size(), steps_before_.begin());
    std::copy_n(state.held_, held_before_.size(), held_before_.begin());
    std::copy_n(state.full_, full_before_.size(), full_before_.begin());
    take_steps(state, span, gpus);
    if (shift_holds(state, static_cast<std::size_t>(span.from_step),
                    static_cast<std::size_t>(span.until_step))) {
        return true;
    }
    std::copy(steps_before_.begin(), steps_before_.end(), state.steps_);
    std::copy(held_before_.begin(), held_before_.end(), state.held_);
    std::copy(full_before_.begin(), full_before_.end(), state.full_);
    return false;
}

/// Takes a block out of the window, or nothing where that would cost an application GPUs.
GpuMask Strip::take_at(StripState& state, const StripJob& job, Side side, std::size_t first,
                       std::size_t next, const Span& span, GpuMask window) noexcept {
    GpuMask held = 0;
    for (int step = span.from_step; step < span.until_step; ++step) {
        held |= state.steps_[step].held;
    }
    GpuMask gpus = 0;
    if (side == Side::push && (held & window) != 0) {
        gpus = choose(window, job, side);
        gpus = (gpus & held) != 0 && give_way(state, span, gpus) ? gpus : 0;
    }
    if (gpus == 0 && blocks(window & ~held, job) != 0) {
        gpus = choose(window & ~held, job, side);
        take_steps(state, span, gpus);
    } else if (gpus == 0 && side != Side::stay) {
        gpus = least_held(window, held, job, side);
        gpus = give_way(state, span, gpus) ? gpus : 0;
    }
    if (gpus != 0) {
        take(state, first, next, span, gpus);
    }
    return gpus;
}

/// The first moment after the beginning of step `after`, and after `start`, at which a segment or a
/// step begins.
void Strip::next_start(const StripState& state, int after, std::size_t& first, Time& start,
                       int& step) const noexcept {
    const StripState::Segment* const segments = state.segments_;
    const Time past = std::max(start, after * step_);
    while (first + 1 < state.count_ && segments[first + 1].from <= past) {
        ++first;
    }
    step = after + 1;
    start = step * step_;
    if (first + 1 < state.count_ && segments[first + 1].from < start) {
        start = segments[first + 1].from;
        step = segments[first + 1].step;
    }
}

FORESIGHT_HOT
StripPlace Strip::place(StripState& state, const StripJob& job, Side side,
                        std::uint64_t& windows) noexcept {
    Time latest = job.latest;
    const Time last_inside = horizon_ - job.duration;
    if (latest > last_inside && state.overrun_gpus_ + job.gpus > overrun_room_) {
        latest = last_inside;
    }
    const StripState::Segment* const segments = state.segments_;
    const std::size_t count = state.count_;
    std::size_t first = 0;
    int step = job.from_step;
    for (Time start = job.from; start <= latest;) {
        ++windows;
        const Span span = span_of(job, start, step);
        // Too few GPUs for the job and the applications: no window over such a step will do.
        if (const int full = last_full(state, job.slot, span.from_whole, span.until_whole);
            full >= 0) {
            next_start(state, full, first, start, step);
            continue;
        }
        while (first + 1 < count && segments[first + 1].from <= start) {
            ++first;
        }
        GpuMask window = segments[first].free;
        std::size_t next = first; // the first segment that is not in the window yet
        while (blocks(window, job) != 0) {
            if (++next == count || segments[next].from >= span.until) {
                break;
            }
            window &= segments[next].free;
        }
        if (next == count || segments[next].from >= span.until) {
            if (const GpuMask gpus = take_at(state, job, side, first, next, span, window);
                gpus != 0) {
                state.overrun_gpus_ += span.until > horizon_ ? job.gpus : 0;
                return {start, gpus};
            }
            // Held GPUs are in the way: what is held changes with the steps.
            next_start(state, step, first, start, step);
            continue;
        }
        // Segment `next` broke the window.  If it does so by itself nothing before its end works.
        if (next > first && blocks(segments[next].free, job) == 0) {
            first = next;
        }
        if (++first >= count) {
            break;
        }
        start = segments[first].from;
        step = segments[first].step;
    }
    return {};
}

GpuSet Strip::set_of(GpuMask gpus) const {
    GpuSet set;
    for (std::size_t node = 0; node < node_.size(); ++node) {
        if (const GpuMask here = gpus & node_[node]; here != 0) {
            set.emplace_back(static_cast<int>(node), here >> base_[node]);
        }
    }
    return set;
}

} // namespace foresight
