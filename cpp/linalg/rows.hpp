// Dot products and row sums over float32 rows. Many accumulators, always in the same order: fast
// without -ffast-math, and the same bits on every run.
#pragma once

#include <cstddef>

#include "linalg/clones.hpp"

namespace rankloop {

constexpr std::size_t lanes = 32;

__attribute__((always_inline)) inline float dot(const float* a, const float* b, std::size_t d) {
    float sums[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= d; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += a[j + k] * b[j + k];
    }
    float rest = 0;
    for (; j + 8 <= d; j += 8) {
        for (std::size_t k = 0; k < 8; ++k) sums[k] += a[j + k] * b[j + k];
    }
    for (; j < d; ++j) rest += a[j] * b[j];
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    }
    return sums[0] + rest;
}

// scores[i] = x_i . w. Memory is the limit: what comes later, up to `end`, is asked for well before it
// is used, also the rows of the next queries.
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

// w += sum of g_i x_i, over rows with g_i != 0
RANKLOOP_CLONES inline void add_rows(const float* x, std::size_t m, std::size_t d, const double* g, double* w) {
    for (std::size_t i = 0; i < m; ++i) {
        const double gi = g[i];
        if (gi == 0) continue;
        const float* const row = x + i * d;
        for (std::size_t j = 0; j < d; ++j) w[j] += gi * row[j];
    }
}

RANKLOOP_CLONES inline void to_float(const double* w, std::size_t d, float* narrow) {
    for (std::size_t j = 0; j < d; ++j) narrow[j] = static_cast<float>(w[j]);
}

}  // namespace rankloop
