// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "learnt.hpp"

#include <set>

using namespace foresight;

namespace {

/// Starts that are possible; they only ever go, but for what opens up.
class Starts {
public:
    explicit Starts(test::Draw& draw) {
        for (int i = 0; i < 40; ++i) {
            starts_.insert(draw.number(0, 99));
        }
    }

    [[nodiscard]] std::optional<Place> earliest(Seconds from, Seconds latest) const {
        const auto at = starts_.lower_bound(from);
        if (at == starts_.end() || *at > latest) {
            return std::nullopt;
        }
        Place place;
        place.start = *at;
        return place;
    }
    void take(Seconds start) { starts_.erase(start); }
    void open(Seconds start) { starts_.insert(start); }

private:
    std::set<Seconds> starts_;
};

Seconds start_of(const std::optional<Place>& place) {
    return place ? place->start : kNever;
}

void finds_what_a_full_look_finds() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 500; ++round) {
        Starts starts(draw);
        Learnt learnt;
        for (int look = 0; look < 60; ++look) {
            const Seconds from = draw.number(0, 99);
            const Seconds latest = from + draw.number(-1, 60);
            const auto begin_of = [&](Seconds begin) {
                CHECK(begin >= from);
                return starts.earliest(begin, latest);
            };
            const std::optional<Place> found = learnt.look(from, latest, begin_of);
            CHECK_INT(start_of(found), start_of(starts.earliest(from, latest)));
            if (found && draw.number(0, 1) == 0) {
                starts.take(found->start);
            }
            if (draw.number(0, 9) == 0) {
                const Seconds opened = draw.number(0, 99);
                starts.open(opened);
                learnt.forget_from(opened);
            }
        }
    }
}

void looks_only_after_what_is_known() {
    Learnt learnt;
    const auto nothing = [](Seconds) -> std::optional<Place> { return std::nullopt; };
    CHECK(!learnt.look(10, 50, nothing).has_value());
    Seconds asked = -1;
    const auto note = [&](Seconds begin) -> std::optional<Place> {
        asked = begin;
        return std::nullopt;
    };
    CHECK(!learnt.look(20, 50, note).has_value());
    CHECK_INT(asked, -1); // nothing up to 50 is known
    CHECK(!learnt.look(20, 70, note).has_value());
    CHECK_INT(asked, 51);
    // One that begins later looks at its own part only: what lies before it stays unknown.
    CHECK(!learnt.look(90, 95, note).has_value());
    CHECK(!learnt.look(20, 95, note).has_value());
    CHECK_INT(asked, 71);
}

} // namespace

TEST_SUITE("learnt", {"finds what a full look finds", finds_what_a_full_look_finds},
           {"looks only after what is known", looks_only_after_what_is_known})
