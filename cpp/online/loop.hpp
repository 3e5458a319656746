// The one loop over queries of the linear online learners: score, hand the scores out, learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "online/ahead.hpp"
#include "online/levels.hpp"
#include "linalg/rows.hpp"

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

// A step may say what it wants to know of a query before it sees the weights: `Step::Query`, filled
// by step.prepare(x, y, m, d, query) and then handed to it. Where that takes long (as much as the
// step itself), Step::prepares_long says so.
template <typename Step>
concept Prepares = requires { typename Step::Query; };

template <typename Step>
struct PreparedBy { struct type {}; };
template <Prepares Step>
struct PreparedBy<Step> { using type = typename Step::Query; };

// For each query: scores before learning go to `scores` (where asked for), then the step learns from
// it and says whether it changed the weights. Long preparations run ahead on a second thread where
// there is a processor for it and enough to do.
template <typename Step>
void learn_queries(const Batch& batch, LinearState& state, float* scores, Step& step, unsigned threads) {
    constexpr std::size_t depth = 8, enough = 64;
    const std::size_t d = state.d;
    std::vector<typename PreparedBy<Step>::type> prepared(std::min(depth, batch.queries));
    std::vector<float> narrow(d), own;

    const auto rows = [&](std::size_t q) { return batch.x + static_cast<std::size_t>(batch.offsets[q]) * d; };
    const auto prepare = [&](std::size_t q) {
        const auto first = static_cast<std::size_t>(batch.offsets[q]);
        if constexpr (Prepares<Step>) step.prepare(rows(q), batch.y + first, static_cast<std::size_t>(batch.offsets[q + 1]) - first, d, prepared[q % depth]);
    };
    const auto learn = [&](std::size_t q) {
        const auto first = static_cast<std::size_t>(batch.offsets[q]);
        const std::size_t m = static_cast<std::size_t>(batch.offsets[q + 1]) - first;
        const float* const x = rows(q);
        own.resize(m);
        to_float(state.w, d, narrow.data());
        score_rows(x, m, d, rows(batch.queries), narrow.data(), own.data());
        if (scores) {
            if (state.sum && state.queries > 0) {  // the mean ranks; the last weights learn
                for (std::size_t j = 0; j < d; ++j) narrow[j] = static_cast<float>(state.sum[j] / static_cast<double>(state.queries));
                score_rows(x, m, d, x + m * d, narrow.data(), scores + first);
            } else {
                std::copy(own.begin(), own.end(), scores + first);
            }
        }
        if constexpr (Prepares<Step>) state.updates += step(x, prepared[q % depth], m, own.data(), state);
        else state.updates += step(x, batch.y + first, m, own.data(), state);
        ++state.queries;
        if (state.sum) {
            for (std::size_t j = 0; j < d; ++j) state.sum[j] += state.w[j];
        }
    };

    if constexpr (requires { requires Step::prepares_long; }) {
        const Running running;
        if (batch.queries >= enough && running.alone(threads)) {
            Ahead<depth, decltype(prepare)> ahead(batch.queries, prepare);
            for (std::size_t q = 0; q < batch.queries; ++q) {
                ahead.wait(q);
                learn(q);
                ahead.done(q);
            }
            return;
        }
    }
    for (std::size_t q = 0; q < batch.queries; ++q) prepare(q), learn(q);
}

}  // namespace rankloop
