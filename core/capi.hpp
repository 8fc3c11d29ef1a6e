// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stands behind the handles of foresight.h, for core/io.
 */
#pragma once

#include "foresight.h"
#include "memory.hpp"
#include "plan.hpp"

#include <string>
#include <vector>

struct fs_snapshot {
    foresight::Snapshot snapshot;
    std::int64_t origin = 0; ///< start of step 0, seconds since the epoch
    std::int64_t now = 0;    ///< seconds since the epoch
    std::uint64_t hash = 0;  ///< of all that was added
    std::string error;

    /// A time of the caller's in the snapshot's.
    [[nodiscard]] foresight::Seconds relative(std::int64_t time) const noexcept;
    /// The other way; FS_NEVER for kNever and beyond.
    [[nodiscard]] std::int64_t absolute(foresight::Seconds time) const noexcept;
};

struct fs_memory {
    foresight::Memory memory;
    std::int64_t origin = 0; ///< of its times: seconds since the epoch
};

struct fs_plan {
    foresight::Plan plan;
    fs_memory memory; ///< what the next plan has to know of this one

    /// What fs_plan_get() hands out, made once.
    struct Decision {
        std::vector<std::int32_t> nodes;
        std::vector<fs_share> shares;
        std::string reason;
        std::string detail;
        const char* kind = "";
    };
    std::vector<Decision> decisions; ///< placements, then unplaced
    std::vector<fs_decision> views;
    std::int64_t next_start = FS_NEVER;
    std::int32_t starts_now = 0;
};
