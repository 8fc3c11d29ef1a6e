// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random: SplitMix64 (Steele, Lea & Flood 2014).  Small, fast, and the same everywhere, so that a
 * search draws the same moves on every machine.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace foresight {

class Random {
public:
    explicit Random(std::uint64_t seed = 1) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    /// 0 … bound-1; bound below 2^32, ≥ 1.
    std::size_t below(std::size_t bound) noexcept {
        return static_cast<std::size_t>(((next() >> 32) * bound) >> 32);
    }

    /// 0 ≤ fraction < 1.
    double fraction() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

} // namespace foresight
