// The classification perceptron (Algorithm 1), document after document: relevant or not.
#pragma once

#include "online/slam.hpp"

namespace rankloop {

class PerceptronStep {
public:
    explicit PerceptronStep(Rate rate) : rate_(rate) {}

    bool operator()(const float* x, const double* y, std::size_t m, const float*, LinearState& state) {
        const double eta = rate_.at(state.queries);
        bool any = false;
        for (std::size_t i = 0; i < m; ++i) {
            if (y[i] < 0) continue;
            const float* const row = x + i * state.d;
            const double side = y[i] > 0 ? 1 : -1;
            double score = 0;
            for (std::size_t j = 0; j < state.d; ++j) score += state.w[j] * row[j];
            if (side * score > 0) continue;
            for (std::size_t j = 0; j < state.d; ++j) state.w[j] += eta * side * row[j];
            any = true;
        }
        return any;
    }

private:
    Rate rate_;
};

}  // namespace rankloop
