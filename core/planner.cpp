// SPDX-License-Identifier: GPL-2.0-or-later
#include "planner.hpp"

#include "bound.hpp"
#include "decode.hpp"
#include "explain.hpp"
#include "search.hpp"
#include "value.hpp"

namespace foresight {

Plan make_plan(const Snapshot& snapshot, const PlanOptions& options) {
    Plan plan;
    plan.policy = options.policy.name;
    Decoder decoder(snapshot, options.policy, options.cancel);
    decoder.prepare();
    const std::uint64_t spent = decoder.work();
    Found found = search_order(snapshot, options.policy, decoder, options.budget);
    plan.placements = std::move(found.placements);
    plan.holds = std::move(found.holds);
    plan.work = spent + found.work;
    plan.complete = !decoder.cancelled();
    if (plan.complete) {
        explain(snapshot, decoder, plan);
        plan.metrics = measure(snapshot, plan);
        Bound bound(snapshot);
        bound.tighten(rounds_of_bound(snapshot, options.budget), plan.metrics.objective);
        plan.bound = bound.value();
        plan.work += bound.work();
    }
    return plan;
}

} // namespace foresight
