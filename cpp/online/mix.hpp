// Several rankers that rank together: their scores on one scale, summed by weights that follow their losses.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "linalg/math.hpp"

namespace rankloop {

// Mean 0 and deviation 1 over the documents of one query; equal scores become 0.
inline void standardise(const double* scores, std::size_t m, double* out) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < m; ++i) mean += scores[i];
    mean /= static_cast<double>(m);
    for (std::size_t i = 0; i < m; ++i) out[i] = scores[i] - mean, square += out[i] * out[i];
    const double spread = std::sqrt(square / static_cast<double>(m));
    for (std::size_t i = 0; i < m; ++i) out[i] = spread > 0 ? out[i] / spread : 0;
}

// Weights that sum to 1: all alike, or exponential in the cumulative losses at the rate sqrt(8 ln K / t).
inline void mixing_weights(const double* losses, std::size_t members, std::int64_t queries, bool uniform,
                           double* weights) {
    const double rate =
        uniform
            ? 0
            : std::sqrt(8 * math::log(static_cast<double>(members)) / static_cast<double>(queries > 0 ? queries : 1));
    double least = losses[0], sum = 0;
    for (std::size_t k = 1; k < members; ++k) least = losses[k] < least ? losses[k] : least;
    for (std::size_t k = 0; k < members; ++k) sum += weights[k] = math::exp(-rate * (losses[k] - least));
    for (std::size_t k = 0; k < members; ++k) weights[k] /= sum;
}

// out = sum of weights times standardised scores; member k's scores of these m documents start at scores + k * stride.
inline void mix_scores(const double* scores, std::size_t stride, std::size_t members, std::size_t m,
                       const double* weights, std::vector<double>& scratch, double* out) {
    scratch.resize(m);
    for (std::size_t i = 0; i < m; ++i) out[i] = 0;
    for (std::size_t k = 0; k < members; ++k) {
        standardise(scores + k * stride, m, scratch.data());
        for (std::size_t i = 0; i < m; ++i) out[i] += weights[k] * scratch[i];
    }
}

}  // namespace rankloop
