// SPDX-License-Identifier: GPL-2.0-or-later
#include "lending.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace foresight {

namespace {

class Lender {
public:
    Lender(const std::vector<LendingNode>& nodes, const std::vector<int>& curve,
           const LendingTerms& terms)
        : nodes_(nodes), curve_(curve), terms_(terms),
          end_(terms.from + static_cast<Seconds>(curve.size()) * terms.step) {}

    Lending run() {
        Lending lending;
        lending.due.resize(nodes_.size());
        int before = 0;
        for (const std::size_t index : ranks()) {
            const LendingNode& node = nodes_[index];
            lending.due[index] = due_of(node, before, lending.missing);
            before += node.healthy ? node.gpus : 0;
        }
        const int wanted = curve_.empty() ? 0 : curve_.front();
        lending.missing += std::max(0, wanted - before);
        respect_swap(lending);
        keep_one(lending);
        return lending;
    }

private:
    [[nodiscard]] bool is_free(const LendingNode& node) const noexcept {
        return node.busy_until <= terms_.now;
    }

    std::vector<std::size_t> ranks() const {
        std::vector<std::size_t> ranks(nodes_.size());
        std::iota(ranks.begin(), ranks.end(), std::size_t{0});
        const auto key = [&](std::size_t i) {
            const LendingNode& node = nodes_[i];
            // Of lent nodes those that could come back now, then the first to end.
            return std::tuple(!node.used, !node.held, !node.healthy,
                              node.held || is_free(node) ? 0 : node.busy_until, node.due);
        };
        std::stable_sort(ranks.begin(), ranks.end(),
                         [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
        return ranks;
    }

    /// The start of the first step that wants more than so many GPUs; now for the present one.
    [[nodiscard]] Seconds needed_from(int gpus) const noexcept {
        for (std::size_t step = 0; step < curve_.size(); ++step) {
            if (curve_[step] > gpus) {
                return step == 0 ? terms_.now
                                 : terms_.from + static_cast<Seconds>(step) * terms_.step;
            }
        }
        return end_;
    }

    [[nodiscard]] Seconds due_of(const LendingNode& node, int before, int& missing) const {
        if (node.used || (node.held && !node.healthy)) {
            return 0; // a node that is down goes back with the others when it is up again
        }
        if (!node.healthy) {
            return std::max(node.due, terms_.now + terms_.least_loan);
        }
        const Seconds needed = needed_from(before);
        if (needed < terms_.now + std::max<Seconds>(1, terms_.least_loan)) {
            if (node.held || is_free(node)) {
                return 0;
            }
            missing += needed <= terms_.now ? std::min(node.gpus, curve_.front() - before) : 0;
            return terms_.now + 1; // as soon as it is free
        }
        const bool lent = !node.held && node.due > terms_.now;
        const Seconds far = terms_.now + (end_ - terms_.now) / 2;
        return lent && node.due > far && node.due <= needed ? node.due : needed;
    }

    /// No more GPUs change hands than may: growth first, then what is given up.
    void respect_swap(Lending& lending) const {
        std::int64_t left = terms_.max_swap;
        for (const bool takes : {true, false}) {
            for (std::size_t i = 0; i < nodes_.size(); ++i) {
                const LendingNode& node = nodes_[i];
                const bool holds = lending.due[i] == 0;
                if (holds == node.held || holds != takes) {
                    continue;
                }
                if (node.gpus <= left) {
                    left -= node.gpus;
                } else if (takes) {
                    lending.due[i] = std::max(node.due, terms_.now + 1);
                    lending.missing += node.gpus;
                } else {
                    lending.due[i] = 0;
                }
            }
        }
    }

    /// A reservation without nodes there is not.
    void keep_one(Lending& lending) const {
        if (nodes_.empty() || std::count(lending.due.begin(), lending.due.end(), 0) > 0) {
            return;
        }
        for (const std::size_t index : ranks()) {
            if (nodes_[index].held || is_free(nodes_[index])) {
                lending.due[index] = 0;
                return;
            }
        }
    }

    const std::vector<LendingNode>& nodes_;
    const std::vector<int>& curve_;
    const LendingTerms& terms_;
    Seconds end_;
};

} // namespace

Lending lend(const std::vector<LendingNode>& nodes, const std::vector<int>& curve,
             const LendingTerms& terms) {
    return Lender(nodes, curve, terms).run();
}

} // namespace foresight
