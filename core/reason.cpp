// SPDX-License-Identifier: GPL-2.0-or-later
#include "reason.hpp"

namespace foresight {

namespace {

std::string app_name(const Reason& reason, const Snapshot& snapshot) {
    const auto index = static_cast<std::size_t>(reason.app);
    return reason.app >= 0 && index < snapshot.apps.size() ? snapshot.apps[index].id
                                                           : "a real-time application";
}

std::string limit_name(const Reason& reason, const Snapshot& snapshot) {
    const auto index = static_cast<std::size_t>(reason.limit);
    return reason.limit >= 0 && index < snapshot.limits.size() ? snapshot.limits[index].name
                                                               : "a limit";
}

/// Cut to a queue listing's width, without what its readers take for a separator.
std::string listed(std::string text) {
    constexpr std::size_t kWidth = 47;
    for (char& c : text) {
        if (c == '|' || static_cast<unsigned char>(c) < ' ' ||
            static_cast<unsigned char>(c) > '~') {
            c = '_';
        }
    }
    if (text.size() > kWidth) {
        text.resize(kWidth);
    }
    return text;
}

std::string waits_for(const char* what, const Reason& reason) {
    std::string text = std::string("Too few ") + what;
    return reason.job.empty() ? text + " are free."
                              : text + " are free before job " + reason.job + " ends.";
}

} // namespace

const char* name_of(ReasonKind kind) noexcept {
    switch (kind) {
    case ReasonKind::gpus:
        return "gpus";
    case ReasonKind::cpus:
        return "cpus";
    case ReasonKind::memory:
        return "memory";
    case ReasonKind::block:
        return "block";
    case ReasonKind::realtime:
        return "realtime";
    case ReasonKind::closed:
        return "closed";
    case ReasonKind::limit:
        return "limit";
    case ReasonKind::begin:
        return "begin";
    case ReasonKind::behind:
        return "behind";
    case ReasonKind::refused:
        return "refused";
    case ReasonKind::beyond_horizon:
        return "beyond-horizon";
    case ReasonKind::never_fits:
        return "never-fits";
    case ReasonKind::down:
        return "down";
    case ReasonKind::not_reached:
        return "not-reached";
    }
    return "unknown";
}

const char* resource_of(ReasonKind kind) noexcept {
    switch (kind) {
    case ReasonKind::gpus:
    case ReasonKind::block:
    case ReasonKind::realtime:
        return "gpus";
    case ReasonKind::cpus:
        return "cpus";
    case ReasonKind::memory:
        return "memory";
    case ReasonKind::limit:
        return "limit";
    default:
        return nullptr;
    }
}

std::string describe(const Reason& reason, const Snapshot& snapshot) {
    switch (reason.kind) {
    case ReasonKind::gpus:
        return waits_for("GPUs", reason);
    case ReasonKind::cpus:
        return waits_for("CPUs", reason);
    case ReasonKind::memory:
        return reason.job.empty() ? "Too little memory is free."
                                  : "Too little memory is free before job " + reason.job + " ends.";
    case ReasonKind::block:
        return "Enough GPUs are free, but not together in a legal block.";
    case ReasonKind::realtime:
        return "The GPUs are kept for " + app_name(reason, snapshot) + ".";
    case ReasonKind::closed:
        return "A reservation or maintenance is in the way of its time limit.";
    case ReasonKind::limit:
        return "The limit " + limit_name(reason, snapshot) + " is full" +
               (reason.job.empty() ? "." : " before job " + reason.job + " ends.");
    case ReasonKind::begin:
        return "Its begin time is not reached.";
    case ReasonKind::behind:
        return reason.job.empty() ? "Jobs ahead of it in the plan need the same GPUs."
                                  : "Job " + reason.job + " is ahead of it in the plan.";
    case ReasonKind::refused:
        return "Slurm would not start it: " + reason.text + ".";
    case ReasonKind::beyond_horizon:
        return "It has no place before the plan's horizon ends.";
    case ReasonKind::down:
        return "Nodes that it needs are down or drained.";
    case ReasonKind::never_fits:
        return "It asks for more than the nodes it may use have.";
    case ReasonKind::not_reached:
        return "More tasks of its array are planned as these start.";
    }
    return "Unknown.";
}

std::string brief(const Reason& reason, const Snapshot& snapshot) {
    switch (reason.kind) {
    case ReasonKind::gpus:
        return "waits for GPUs";
    case ReasonKind::cpus:
        return "waits for CPUs";
    case ReasonKind::memory:
        return "waits for memory";
    case ReasonKind::block:
        return "waits for GPUs in one block";
    case ReasonKind::realtime:
        return listed("GPUs kept for " + app_name(reason, snapshot));
    case ReasonKind::closed:
        return "reservation or maintenance ahead";
    case ReasonKind::limit:
        return listed("limit " + limit_name(reason, snapshot));
    case ReasonKind::begin:
        return "begin time";
    case ReasonKind::behind:
        return "behind jobs of more weight";
    case ReasonKind::refused:
        return listed("refused: " + reason.text);
    case ReasonKind::beyond_horizon:
        return "beyond the horizon";
    case ReasonKind::down:
        return "nodes down or drained";
    case ReasonKind::never_fits:
        return "never fits";
    case ReasonKind::not_reached:
        return "not planned yet";
    }
    return "unknown";
}

} // namespace foresight
