// SPDX-License-Identifier: GPL-2.0-or-later
#include "digest.hpp"

#include <bit>
#include <concepts>

namespace foresight {

namespace {

class Digest {
public:
    template <typename T>
    requires std::integral<T> || std::is_enum_v<T> Digest& operator<<(T value) {
        state_ = (state_ ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
        // FNV's product moves bits only upwards: bring the high ones back.
        state_ ^= state_ >> 32;
        return *this;
    }
    Digest& operator<<(double value) { return *this << std::bit_cast<std::uint64_t>(value); }
    Digest& operator<<(const std::string& text) {
        *this << text.size();
        for (const char c : text) {
            *this << c;
        }
        return *this;
    }
    template <typename T> Digest& operator<<(const std::vector<T>& list) {
        *this << list.size();
        for (const T& item : list) {
            *this << item;
        }
        return *this;
    }
    template <typename T> Digest& operator<<(const std::optional<T>& item) {
        *this << item.has_value();
        return item ? *this << *item : *this;
    }
    template <typename A, typename B> Digest& operator<<(const std::pair<A, B>& pair) {
        return *this << pair.first << pair.second;
    }
    Digest& operator<<(const Amount& amount) {
        return *this << amount.gpus << amount.cpus << amount.memory_mib;
    }
    Digest& operator<<(const Node& node) {
        return *this << node.name << node.gpus << node.cpus << node.memory_mib << node.usable
                     << node.gpus_of_type;
    }
    Digest& operator<<(const Closure& closure) {
        return *this << closure.node << closure.from << closure.until;
    }
    Digest& operator<<(const NodeClass& node_class) {
        return *this << node_class.nodes << node_class.closures;
    }
    Digest& operator<<(const Limit& limit) { return *this << limit.name << limit.max; }
    Digest& operator<<(const LimitUse& use) { return *this << use.limit << use.amount; }
    Digest& operator<<(const Request& request) {
        return *this << request.chunk << request.chunks << request.chunks_per_node_max
                     << request.nodes_min << request.nodes_max << request.per_node
                     << request.whole_nodes << request.gpu_type;
    }
    Digest& operator<<(const Option& option) {
        return *this << option.node_class << option.request << option.duration << option.tier
                     << option.rank << option.refused_on << option.cookie;
    }
    Digest& operator<<(const Refusal& refusal) { return *this << refusal.why << refusal.retry; }
    Digest& operator<<(const Job& job) {
        return *this << job.id << job.kind << job.key << job.submit << job.begin << job.priority
                     << job.tasks << job.on_top << job.opaque << job.app << job.options
                     << job.limits << job.refusal;
    }
    Digest& operator<<(const Share& share) {
        return *this << share.node << share.gpus << share.cpus << share.memory_mib;
    }
    Digest& operator<<(const Running& running) {
        return *this << running.id << running.kind << running.priority << running.app
                     << running.start << running.end << running.shares << running.limits;
    }
    Digest& operator<<(const App& app) {
        return *this << app.id << app.priority << app.demand << app.max_swap << app.held
                     << app.node_class << app.per_gpu;
    }
    Digest& operator<<(const Policy& policy) {
        return *this << policy.name << policy.order << policy.holds << policy.realtime
                     << policy.age_doubles << policy.packing << policy.move_gain
                     << policy.may_fall_short;
    }

    [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

private:
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

} // namespace

std::uint64_t digest_of(const Snapshot& snapshot, const Policy& policy, std::uint64_t budget) {
    Digest digest;
    digest << policy << budget << snapshot.name << snapshot.step << snapshot.steps << snapshot.now
           << snapshot.block << snapshot.fit << snapshot.value.decay_end
           << snapshot.value.shortfall_weight << snapshot.gpu_types << snapshot.nodes
           << snapshot.classes << snapshot.limits << snapshot.jobs << snapshot.running
           << snapshot.apps;
    return digest.value();
}

std::uint64_t digest_of_nodes(const Snapshot& snapshot) {
    Digest digest;
    digest << snapshot.block << snapshot.gpu_types << snapshot.nodes;
    return digest.value();
}

} // namespace foresight
