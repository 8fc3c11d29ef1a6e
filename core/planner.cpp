// SPDX-License-Identifier: GPL-2.0-or-later
#include "planner.hpp"

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
    plan.holds = decoder.holds();
    Decoded decoded = options.policy.order == Order::value && options.policy.holds == kHoldAll
                          ? search_order(snapshot, options.policy, decoder, options.budget)
                          : decoder.decode(queue_of(snapshot, options.policy));
    plan.placements = std::move(decoded.placements);
    plan.work = decoder.work();
    plan.complete = !decoder.cancelled();
    if (plan.complete) {
        explain(snapshot, decoder, plan);
        plan.metrics = measure(snapshot, plan);
    }
    return plan;
}

} // namespace foresight
