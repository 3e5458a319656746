// The classification perceptron (Algorithm 1), document after document: relevant or not.
#pragma once

#include "online/loop.hpp"
#include "online/rate.hpp"

namespace rankloop {

class PerceptronStep {
public:
    static constexpr bool takes_sparse = true;

    explicit PerceptronStep(Rate rate) : rate_(rate) {}

    template <typename Rows>
    bool operator()(const Rows& rows, const float*, LinearState& state) {
        const double eta = rows.weight * rate_.at(state.queries);
        bool any = false;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] < 0) continue;
            const double side = rows.y[i] > 0 ? 1 : -1;
            if (side * row_score(rows, i, state.w) > 0) continue;
            add_row(rows, i, eta * side * rows.weight_of(i), state.w);
            any = true;
        }
        return any;
    }

private:
    Rate rate_;
};

}  // namespace rankloop
