// The minimax perceptron (Algorithm 3) on one query.
#pragma once

#include <limits>

#include "online/levels.hpp"
#include "online/loop.hpp"
#include "online/rate.hpp"

namespace rankloop {

class MinimaxStep {
public:
    static constexpr bool takes_sparse = true;

    explicit MinimaxStep(Rate rate) : rate_(rate) {}

    // One pair: the worst violation, the lowest rows where several are as bad.
    template <typename Rows>
    bool operator()(const Rows& rows, const float* s, LinearState& state) {
        levels_.gather(rows.y, rows.m);
        float highest = -std::numeric_limits<float>::infinity(), worst = highest;
        std::uint32_t high = 0, better = 0, worse = 0;
        for (std::size_t level = levels_.count(); level-- > 0;) {  // worst grade first
            const float above = highest;
            const std::uint32_t owner = high;
            for (std::size_t k = levels_.starts[level]; k < levels_.starts[level + 1]; ++k) {
                const std::uint32_t i = levels_.documents[k];
                if (above - s[i] > worst || (above - s[i] == worst && i < better))
                    worst = above - s[i], better = i, worse = owner;
                if (s[i] > highest || (s[i] == highest && i < high)) highest = s[i], high = i;
            }
        }
        if (!(worst >= 0)) return false;  // every document above all of lower grades: no mistake
        add_difference(rows, better, worse,
                       rows.weight * rows.weight_of(better) * rows.weight_of(worse) * rate_.at(state.queries), state.w);
        return true;
    }

private:
    Rate rate_;
    Levels levels_;
};

}  // namespace rankloop
