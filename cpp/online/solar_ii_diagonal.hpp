// SOLAR-II with a diagonal covariance: O(d) a pair, no matrix.
#pragma once

#include "online/pairs.hpp"

namespace rankloop {

// The margin w.delta of a pair, and delta' S delta.
struct PairSize {
    double margin, spread;
};

RANKLOOP_CLONES inline PairSize pair_size(const float* a, const float* b, std::size_t d, const double* w,
                                          const double* variance) {
    constexpr std::size_t K = 8;
    double margins[K] = {}, spreads[K] = {};
    std::size_t j = 0;
    for (; j + K <= d; j += K) {
        for (std::size_t k = 0; k < K; ++k) {
            const double delta = static_cast<double>(a[j + k]) - b[j + k];
            margins[k] += w[j + k] * delta;
            spreads[k] += variance[j + k] * delta * delta;
        }
    }
    for (std::size_t k = 0; j < d; ++j, ++k) {
        const double delta = static_cast<double>(a[j]) - b[j];
        margins[k] += w[j] * delta;
        spreads[k] += variance[j] * delta * delta;
    }
    for (std::size_t half = K / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) margins[k] += margins[k + half], spreads[k] += spreads[k + half];
    }
    return {margins[0], spreads[0]};
}

RANKLOOP_CLONES inline void learn_diagonal_pair(const float* a, const float* b, std::size_t d, double by, double beta,
                                                double* w, double* variance) {
    for (std::size_t j = 0; j < d; ++j) {
        const double delta = static_cast<double>(a[j]) - b[j], moved = variance[j] * delta,
                     left = variance[j] - moved * moved / beta;
        w[j] += by * moved;
        variance[j] = left > 0 ? left : 0;
    }
}

class DiagonalSolarStep {
public:
    DiagonalSolarStep(double gamma, double* variance) : gamma_(gamma), variance_(variance) {}

    bool operator()(const QueryRows& rows, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        if (!query_.gather(rows, s)) return false;
        bool any = false;
        query_.each_pair([&](std::size_t p, std::size_t q) {
            const float *a = query_.x.data() + p * d, *b = query_.x.data() + q * d;
            const PairSize size = pair_size(a, b, d, state.w, variance_);
            if (!(size.margin < 1)) return;
            const double beta = size.spread + gamma_ / (static_cast<double>(query_.weights[p]) * query_.weights[q]);
            learn_diagonal_pair(a, b, d, (1 - size.margin) / beta, beta, state.w, variance_);
            any = true;
        });
        return any;
    }

private:
    double gamma_;
    double* variance_;
    OrderedQuery query_;
};

}  // namespace rankloop
