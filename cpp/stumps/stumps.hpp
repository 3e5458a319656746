// Decision stumps: trees with one split, on one feature at one threshold. Sums by bin serve to find the best stump.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linalg/parallel.hpp"

namespace rankloop {

// sums[f][b] = the sum of values over the documents whose feature f falls into bin b; from cumulative sums over bins,
// every threshold can be judged in one pass. `bins` has one row per feature, so that a row is read in order. There are
// four sums of each bin, used in turn: neighbouring documents often share a bin, and with a single sum each addition
// would wait for the one before it. They are added in a fixed order, so the bits do not depend on threads.
inline void bin_sums(const std::uint8_t* bins, const double* values, std::size_t n, std::size_t features,
                     std::size_t n_bins, unsigned threads, double* sums) {
    const std::size_t least = 1 + 100'000 / (n + 1);
    parallel_parts(features, least, threads, [=](std::size_t begin, std::size_t end) {
        for (std::size_t f = begin; f < end; ++f) {
            const std::uint8_t* const b = bins + f * n;
            double part[4][256] = {};
            std::size_t i = 0;
            for (; i + 4 <= n; i += 4) {
                part[0][b[i]] += values[i];
                part[1][b[i + 1]] += values[i + 1];
                part[2][b[i + 2]] += values[i + 2];
                part[3][b[i + 3]] += values[i + 3];
            }
            for (; i < n; ++i) part[0][b[i]] += values[i];
            for (std::size_t k = 0; k < n_bins; ++k) {
                sums[f * n_bins + k] = (part[0][k] + part[1][k]) + (part[2][k] + part[3][k]);
            }
        }
    });
}

struct Stumps {
    const std::int64_t* features;
    const float* thresholds;
    const double* alphas;
    std::size_t count;
};

// scores[i] += alpha where the feature is above the threshold, one weak ranker after the other.
inline void add_stumps(const float* x, std::size_t n, std::size_t d, const Stumps& stumps, unsigned threads,
                       double* scores) {
    const std::size_t least = 1 + 1'000'000 / (stumps.count + 1);
    parallel_parts(n, least, threads, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            double score = scores[i];
            for (std::size_t t = 0; t < stumps.count; ++t) {
                score += x[i * d + static_cast<std::size_t>(stumps.features[t])] > stumps.thresholds[t]
                             ? stumps.alphas[t]
                             : 0.0;
            }
            scores[i] = score;
        }
    });
}

}  // namespace rankloop
