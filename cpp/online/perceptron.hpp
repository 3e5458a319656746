// The classification perceptron (Algorithm 1), document after document: relevant or not.
#pragma once

#include "online/loop.hpp"
#include "online/rate.hpp"

namespace rankloop {

class PerceptronStep {
public:
    explicit PerceptronStep(Rate rate) : rate_(rate) {}

    bool operator()(const QueryRows& rows, const float*, LinearState& state) {
        const double eta = rows.weight * rate_.at(state.queries);
        bool any = false;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] < 0) continue;
            const float* const row = rows.x + i * state.d;
            const double side = rows.y[i] > 0 ? 1 : -1;
            double score;
            score_rows(row, 1, state.d, state.w, &score);
            if (side * score > 0) continue;
            const double step = eta * side * rows.weight_of(i);
            add_rows(row, 1, state.d, &step, state.w);
            any = true;
        }
        return any;
    }

private:
    Rate rate_;
};

}  // namespace rankloop
