// The one loop over queries of the linear online learners: score, hand the scores out, learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "levels.hpp"
#include "linear.hpp"

namespace rankloop {

// What a linear learner knows. Weights are kept in double, so that a stream of small steps is not
// lost, and scored in float.
struct LinearState {
    double* w;
    std::size_t d;
    double* sum;           // of the weights after each query, or nullptr
    std::int64_t queries;  // learnt from so far
    std::int64_t updates;  // of those, the queries that changed the weights
};

struct Batch {
    const float* x;
    const double* y;
    const std::int64_t* offsets;
    std::size_t queries;
};

// For each query: scores before learning go to `scores` (where asked for), then step(x, y, m, s,
// state) learns from it and says whether it changed the weights.
template <typename Step>
void learn_queries(const Batch& batch, LinearState& state, float* scores, Step& step) {
    std::vector<float> narrow(state.d), own;
    for (std::size_t q = 0; q < batch.queries; ++q) {
        const auto first = static_cast<std::size_t>(batch.offsets[q]);
        const std::size_t m = static_cast<std::size_t>(batch.offsets[q + 1]) - first;
        const float* const x = batch.x + first * state.d;
        own.resize(m);
        to_float(state.w, state.d, narrow.data());
        score_rows(x, m, state.d, narrow.data(), own.data());
        if (scores) {
            if (state.sum && state.queries > 0) {  // the mean ranks; the last weights learn
                for (std::size_t j = 0; j < state.d; ++j) {
                    narrow[j] = static_cast<float>(state.sum[j] / static_cast<double>(state.queries));
                }
                score_rows(x, m, state.d, narrow.data(), scores + first);
            } else {
                std::copy(own.begin(), own.end(), scores + first);
            }
        }
        state.updates += step(x, batch.y + first, m, own.data(), state);
        ++state.queries;
        if (state.sum) {
            for (std::size_t j = 0; j < state.d; ++j) state.sum[j] += state.w[j];
        }
    }
}

}  // namespace rankloop
