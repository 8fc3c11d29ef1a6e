// SPDX-License-Identifier: GPL-2.0-or-later
#include "services.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>

namespace foresight::test {

namespace {

constexpr int kDay = 144;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

class Maker {
public:
    explicit Maker(std::uint64_t seed) : engine_(seed) {}

    /// The window `index` of the service; called once for each, in order.
    double value(const std::string& name, int index);

private:
    double noise() { return normal_(engine_); }
    bool chance(double probability) { return uniform_(engine_) < probability; }

    /// A day with a trough in the night, 1 in the mean.
    static double daily(int index) {
        const double angle = 2 * std::numbers::pi * (index % kDay) / kDay;
        return 1 - 0.6 * std::cos(angle) + 0.15 * std::sin(2 * angle);
    }
    static bool weekend(int index) { return index / kDay % 7 >= 5; }

    double walk(double step) { return state_ = std::max(1.0, state_ + step * noise()); }
    double burst();
    double shifted(int index);

    std::mt19937_64 engine_;
    std::normal_distribution<double> normal_;
    std::uniform_real_distribution<double> uniform_;
    double state_ = 100;
    double other_ = 0;
    int left_ = 0;
};

double Maker::burst() {
    if (left_ > 0) {
        --left_;
    } else if (chance(0.01)) {
        left_ = 3 + static_cast<int>(uniform_(engine_) * 12);
        other_ = 100 * (1 + 3 * uniform_(engine_));
    } else {
        other_ = 0;
    }
    return other_;
}

double Maker::shifted(int index) {
    if (index % (3 * kDay) == 0) {
        state_ = 50 + 150 * uniform_(engine_);
    }
    return state_;
}

double Maker::value(const std::string& name, int index) {
    if (name == "flat") {
        return 80;
    }
    if (name == "nearly constant") {
        return 80 + 0.01 * noise();
    }
    if (name == "noise") {
        return std::max(0.0, 100 + 20 * noise());
    }
    if (name == "exactly daily") {
        return 100 * daily(index);
    }
    if (name == "daily") {
        return std::max(0.0, 100 * daily(index) + 8 * noise());
    }
    if (name == "exactly weekly") {
        return 100 * daily(index) * (weekend(index) ? 0.3 : 1 + 0.1 * (index / kDay % 7));
    }
    if (name == "weekdays") {
        return std::max(0.0,
                        100 * daily(index) * (weekend(index) ? 0.35 : 1) * (1 + 0.07 * noise()));
    }
    if (name == "random walk") {
        return walk(3);
    }
    if (name == "daily on a walk") {
        return walk(0.5) * daily(index) * (1 + 0.05 * noise());
    }
    if (name == "autoregressive") {
        other_ = 0.95 * other_ + 5 * noise();
        return std::max(0.0, 100 + other_);
    }
    if (name == "bursts") {
        return std::max(0.0, 60 * daily(index) + 4 * noise()) + burst();
    }
    if (name == "shifts") {
        return std::max(0.0, shifted(index) * (1 + 0.04 * noise()));
    }
    if (name == "nights off") {
        const int hour = index % kDay / 6;
        return hour < 7 || hour >= 20 ? 0 : std::max(0.0, 90 + 10 * noise());
    }
    if (name == "on and off") {
        if (chance(0.02)) {
            other_ = 1 - other_;
        }
        return other_ * (50 + 5 * noise());
    }
    if (name == "gaps") {
        if (left_ > 0 || chance(0.005)) {
            left_ = left_ > 0 ? left_ - 1 : 20;
            return kUnknown;
        }
        return std::max(0.0, 100 * daily(index) + 8 * noise());
    }
    if (name == "counts") {
        return std::poisson_distribution<int>(2 * daily(index))(engine_);
    }
    if (name == "growing") {
        return (50 + 0.05 * index) * daily(index) * (1 + 0.05 * noise());
    }
    throw std::invalid_argument("no such service: " + name);
}

} // namespace

const std::vector<Service>& services() {
    static const std::vector<Service> all{
        {"flat"},
        {"nearly constant"},
        {"noise"},
        {"exactly daily"},
        {"daily"},
        {"exactly weekly", 1}, // the second week is the first that week ago can be judged by
        {"weekdays", 0, 0.1},
        {"random walk", 0.12, 0.15}, // the last value is all there is to know
        {"daily on a walk"},
        {"autoregressive"},
        {"bursts", 0, 0.3},
        {"shifts", 0.02, 0.2},
        {"nights off", 0, 0.3},
        {"on and off", 0.03, 0.05},
        {"gaps"},
        {"counts"},
        {"growing"},
    };
    return all;
}

Series make_service(const std::string& name, std::uint64_t seed, int days) {
    Maker maker(seed);
    Series series;
    for (int index = 0; index < days * kDay; ++index) {
        series.values.push_back(maker.value(name, index));
    }
    return series;
}

} // namespace foresight::test
