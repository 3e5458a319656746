// Scores and sums of float32 rows. A row's score has the same bits alone, in any block, at any
// alignment and on any processor: 32 sums in a fixed order, then a fixed tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "linalg/clones.hpp"
#include "linalg/vectors.hpp"

namespace rankloop {

constexpr std::size_t lanes = 32;
constexpr float largest = std::numeric_limits<float>::max();

// x . w in double, brought back to the range of a float: for rows whose float sum overflowed.
inline float wide_dot(const float* x, const float* w, std::size_t d) {
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * w[j];
    return static_cast<float>(std::clamp<double>(sum, -largest, largest));
}

// 32 sums of the products of whole eights, brought down to 8: the first two steps of the tree.
RANKLOOP_INLINE Float8 lane_sums(const float* x, const float* w, std::size_t d) {
    Float8 first = {};
    std::size_t j = 0;
    if (d >= lanes) {
        Float8 second = {}, third = {}, fourth = {};
        for (; j + lanes <= d; j += lanes) {
            first += load8(x + j) * load8(w + j), second += load8(x + j + 8) * load8(w + j + 8);
            third += load8(x + j + 16) * load8(w + j + 16), fourth += load8(x + j + 24) * load8(w + j + 24);
        }
        // what is left of a row joins the first eight before they meet the others
        for (; j + 8 <= d; j += 8) first += load8(x + j) * load8(w + j);
        return (first + third) + (second + fourth);
    }
    for (; j + 8 <= d; j += 8) first += load8(x + j) * load8(w + j);
    return first;
}

// What is left of a row beyond whole eights.
RANKLOOP_INLINE float rest_sum(const float* x, const float* w, std::size_t d) {
    float rest = 0;
    for (std::size_t j = d & ~std::size_t{7}; j < d; ++j) rest += x[j] * w[j];
    return rest;
}

RANKLOOP_INLINE float finite_sum(float sum, const float* x, const float* w, std::size_t d) {
    return std::abs(sum) <= largest ? sum : wide_dot(x, w, d);
}

RANKLOOP_INLINE float dot(const float* x, const float* w, std::size_t d) {
    const Float8 s = lane_sums(x, w, d);
    return finite_sum((((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest_sum(x, w, d), x, w, d);
}

// rest_sum of four rows, side by side; they have at least eight numbers.
RANKLOOP_INLINE Float4 four_rests(const float* x, const float* w, std::size_t d) {
    const Float8 last = load8(w + d - 8);
    const Float8 a = load8(x + d - 8) * last, b = load8(x + 2 * d - 8) * last, c = load8(x + 3 * d - 8) * last,
                 e = load8(x + 4 * d - 8) * last;
    const Float8 ab_low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13),
                 ce_low = __builtin_shufflevector(c, e, 0, 8, 1, 9, 4, 12, 5, 13);
    const Float8 ab_high = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15),
                 ce_high = __builtin_shufflevector(c, e, 2, 10, 3, 11, 6, 14, 7, 15);
    const Float8 columns[4] = {__builtin_shufflevector(ab_low, ce_low, 0, 1, 8, 9, 4, 5, 12, 13),
                               __builtin_shufflevector(ab_low, ce_low, 2, 3, 10, 11, 6, 7, 14, 15),
                               __builtin_shufflevector(ab_high, ce_high, 0, 1, 8, 9, 4, 5, 12, 13),
                               __builtin_shufflevector(ab_high, ce_high, 2, 3, 10, 11, 6, 7, 14, 15)};
    const std::size_t first = 8 - d % 8;
    Float4 rest = {};
    for (std::size_t k = first; k < 4; ++k) rest += __builtin_shufflevector(columns[k], columns[k], 0, 1, 2, 3);
    for (std::size_t k = std::max<std::size_t>(first, 4); k < 8; ++k)
        rest += __builtin_shufflevector(columns[k - 4], columns[k - 4], 4, 5, 6, 7);
    return rest;
}

// The dots of four rows: the last three steps of the tree are taken side by side, the same sums for each row.
RANKLOOP_INLINE void four_dots(const float* x, const float* w, std::size_t d, float* out) {
    const Float8 a = lane_sums(x, w, d), b = lane_sums(x + d, w, d), c = lane_sums(x + 2 * d, w, d),
                 e = lane_sums(x + 3 * d, w, d);
    const Float8 ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                      __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    const Float8 ce = __builtin_shufflevector(c, e, 0, 1, 2, 3, 8, 9, 10, 11) +
                      __builtin_shufflevector(c, e, 4, 5, 6, 7, 12, 13, 14, 15);
    const Float8 halves = __builtin_shufflevector(ab, ce, 0, 1, 8, 9, 4, 5, 12, 13) +
                          __builtin_shufflevector(ab, ce, 2, 3, 10, 11, 6, 7, 14, 15);
    Float4 sums =
        __builtin_shufflevector(halves, halves, 0, 4, 2, 6) + __builtin_shufflevector(halves, halves, 1, 5, 3, 7);
    if (d % 8 != 0)
        sums += d > 8 ? four_rests(x, w, d)
                      : Float4{rest_sum(x, w, d), rest_sum(x + d, w, d), rest_sum(x + 2 * d, w, d),
                               rest_sum(x + 3 * d, w, d)};
    for (std::size_t r = 0; r < 4; ++r) out[r] = finite_sum(sums[r], x + r * d, w, d);
}

// scores[i] = x_i . w, finite for finite x and w. Memory is the limit: what comes later, up to `end`, is
// asked for well before it is used, also the rows of the next queries.
RANKLOOP_CLONES inline void score_rows(const float* x, std::size_t m, std::size_t d, const float* end, const float* w,
                                       float* scores) {
    constexpr std::ptrdiff_t line = 16, ahead = 4096;
    const auto ask = [&](const float* from, std::size_t n) {
        if (end - from < ahead + static_cast<std::ptrdiff_t>(n)) return;
        for (std::size_t j = 0; j < n; j += line) __builtin_prefetch(from + ahead + j);
    };
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) ask(x + i * d, 4 * d), four_dots(x + i * d, w, d, scores + i);
    for (; i < m; ++i) ask(x + i * d, d), scores[i] = dot(x + i * d, w, d);
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
