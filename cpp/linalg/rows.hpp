// Scores and sums of float32 rows. A row's score has the same bits alone, in any block, at any
// alignment and on any processor: 32 sums in a fixed order, then a fixed tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "linalg/clones.hpp"

namespace rankloop {

constexpr std::size_t lanes = 32;
constexpr float largest = std::numeric_limits<float>::max();

// x . w in double, brought back to the range of a float: for rows whose float sum overflowed.
inline float wide_dot(const float* x, const float* w, std::size_t d) {
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * w[j];
    return static_cast<float>(std::clamp<double>(sum, -largest, largest));
}

RANKLOOP_INLINE float dot(const float* x, const float* w, std::size_t d) {
    float sums[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= d; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += x[j + k] * w[j + k];
    }
    float rest = 0;
    for (; j + 8 <= d; j += 8) {
        for (std::size_t k = 0; k < 8; ++k) sums[k] += x[j + k] * w[j + k];
    }
    for (; j < d; ++j) rest += x[j] * w[j];
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    }
    const float sum = sums[0] + rest;
    return std::abs(sum) <= largest ? sum : wide_dot(x, w, d);
}

// scores[i] = x_i . w, finite for finite x and w. Memory is the limit: what comes later, up to `end`, is
// asked for well before it is used, also the rows of the next queries.
RANKLOOP_CLONES inline void score_rows(const float* x, std::size_t m, std::size_t d, const float* end, const float* w, float* scores) {
    constexpr std::ptrdiff_t line = 16, ahead = 4096;
    for (std::size_t i = 0; i < m; ++i) {
        const float* const row = x + i * d;
        if (end - row >= ahead + static_cast<std::ptrdiff_t>(d)) {
            for (std::size_t j = 0; j < d; j += line) __builtin_prefetch(row + ahead + j);
        }
        scores[i] = dot(row, w, d);
    }
}

// scores[i] = x_i . w in double
RANKLOOP_CLONES inline void score_rows(const float* x, std::size_t m, std::size_t d, const double* w, double* scores) {
    constexpr std::size_t K = 16;
    for (std::size_t i = 0; i < m; ++i) {
        const float* const row = x + i * d;
        double sums[K] = {}, rest = 0;
        std::size_t j = 0;
        for (; j + K <= d; j += K) {
            for (std::size_t k = 0; k < K; ++k) sums[k] += static_cast<double>(row[j + k]) * w[j + k];
        }
        for (; j < d; ++j) rest += static_cast<double>(row[j]) * w[j];
        for (std::size_t half = K / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
        }
        scores[i] = sums[0] + rest;
    }
}

// w += sum of g_i x_i, over rows with g_i != 0
RANKLOOP_CLONES inline void add_rows(const float* x, std::size_t m, std::size_t d, const double* g, double* w) {
    for (std::size_t i = 0; i < m; ++i) {
        const double gi = g[i];
        if (gi == 0) continue;
        const float* const row = x + i * d;
        for (std::size_t j = 0; j < d; ++j) w[j] += gi * row[j];
    }
}

// Weights as they score: what is beyond the range of a float becomes its largest.
RANKLOOP_CLONES inline void to_float(const double* w, std::size_t d, float* narrow) {
    for (std::size_t j = 0; j < d; ++j) {
        const double bounded = w[j] > largest ? largest : w[j];
        narrow[j] = static_cast<float>(bounded < -largest ? -largest : bounded);
    }
}

// |a - b|^2
RANKLOOP_CLONES inline double squared_distance(const double* a, const double* b, std::size_t d) {
    constexpr std::size_t K = 8;
    double sums[K] = {};
    std::size_t j = 0;
    for (; j + K <= d; j += K) {
        for (std::size_t k = 0; k < K; ++k) sums[k] += (a[j + k] - b[j + k]) * (a[j + k] - b[j + k]);
    }
    for (std::size_t k = 0; j < d; ++j, ++k) sums[k] += (a[j] - b[j]) * (a[j] - b[j]);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

RANKLOOP_CLONES inline bool all_finite(const double* values, std::size_t n) {
    bool finite = true;
    for (std::size_t i = 0; i < n; ++i) finite &= std::abs(values[i]) <= std::numeric_limits<double>::max();
    return finite;
}

}  // namespace rankloop
