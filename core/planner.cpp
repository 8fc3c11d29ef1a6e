// SPDX-License-Identifier: GPL-2.0-or-later
#include "planner.hpp"

#include "decode.hpp"
#include "digest.hpp"
#include "explain.hpp"
#include "prices.hpp"
#include "search.hpp"
#include "value.hpp"

namespace foresight {

namespace {

/// A plan that knows nothing of the last one; `decoder` is prepared.
Draft plan_freely(const Snapshot& snapshot, const PlanOptions& options, Decoder& decoder,
                  Prices& prices) {
    const std::uint64_t spent = decoder.work();
    Found found = search_order(snapshot, options.policy, decoder, prices, options.budget);
    return {std::move(found.placements), std::move(found.holds), spent + found.work};
}

Plan finish(const Snapshot& snapshot, const PlanOptions& options, Draft draft, Decoder& decoder,
            Prices& prices) {
    Plan plan;
    plan.policy = options.policy.name;
    plan.placements = std::move(draft.placements);
    plan.holds = std::move(draft.holds);
    plan.work = draft.work;
    plan.budget = options.budget;
    plan.complete = !decoder.cancelled();
    if (plan.complete && options.explained) {
        explain(snapshot, decoder, plan);
        plan.metrics = measure(snapshot, plan);
        Bound bound = prices.bound();
        bound.tighten(rounds_of_bound(snapshot, options.budget), plan.metrics.objective);
        plan.bound = bound.value();
        plan.work += bound.work();
    }
    return plan;
}

} // namespace

Plan make_plan(const Snapshot& snapshot, const PlanOptions& options) {
    Decoder decoder(snapshot, options.policy, options.cancel);
    decoder.prepare();
    Prices prices(snapshot, options.policy);
    Draft draft = plan_freely(snapshot, options, decoder, prices);
    return finish(snapshot, options, std::move(draft), decoder, prices);
}

Plan make_plan(const Snapshot& snapshot, const PlanOptions& options, Memory& memory) {
    const std::uint64_t input = digest_of(snapshot, options.policy, options.budget);
    Decoder decoder(snapshot, options.policy, options.cancel);
    decoder.prepare();
    Prices prices(snapshot, options.policy);
    std::optional<Draft> draft = recall(memory, input);
    if (!draft) {
        draft = plan_freely(snapshot, options, decoder, prices);
        if (options.policy.order == Order::value && options.policy.holds == kHoldAll) {
            draft =
                keep_announced(snapshot, options.policy, options.cancel, memory, std::move(*draft));
        }
        if (!decoder.cancelled()) {
            memory = remember(snapshot, options.policy, *draft, input, memory);
        }
    }
    return finish(snapshot, options, std::move(*draft), decoder, prices);
}

} // namespace foresight
