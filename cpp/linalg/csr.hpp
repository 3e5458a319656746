// Sparse float32 rows: the columns of their nonzeros and the values. Sums go to the lanes where a dense row has them
// (linalg/rows.hpp), and a 0 adds nothing to a sum: a row scores the same bits as the dense row that it stands for.
#pragma once

#include <array>
#include <cstdint>

#include "linalg/rows.hpp"

namespace rankloop {

// Row i is entries starts[i] to starts[i + 1] of both arrays; its columns rise.
struct Csr {
    const std::int64_t* starts;
    const std::int32_t* columns;
    const float* values;
    std::size_t n, d;

    std::size_t start(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
    Csr from(std::size_t row, std::size_t rows) const { return {starts + row, columns, values, rows, d}; }
};

// Whether starts never fall or leave the entries, and the columns of each row rise from 0 and stay below d: what all
// that reads these rows relies on.
RANKLOOP_CLONES inline bool are_sparse_rows(const Csr& x, std::size_t entries) {
    if (x.starts[0] < 0 || x.starts[x.n] > static_cast<std::int64_t>(entries)) return false;
    for (std::size_t i = 0; i < x.n; ++i) {
        const std::int64_t first = x.starts[i], end = x.starts[i + 1];
        if (first > end || end > static_cast<std::int64_t>(entries)) return false;
        if (first == end) continue;
        unsigned falls = x.columns[first] < 0 || static_cast<std::size_t>(x.columns[end - 1]) >= x.d;
        for (std::int64_t k = first + 1; k < end; ++k) falls |= x.columns[k] <= x.columns[k - 1];
        if (falls) return false;
    }
    return true;
}

// The sum of a dense row to which a column's product goes: one of 32, or the last, for what is left beyond whole
// eights.
struct FloatLanes {
    static constexpr std::size_t count = lanes + 1;
    std::size_t in_32, in_8;

    explicit FloatLanes(std::size_t d) : in_32(d & ~std::size_t{31}), in_8(d & ~std::size_t{7}) {}
    RANKLOOP_INLINE std::size_t of(std::size_t column) const {
        return column < in_32 ? column & 31 : column < in_8 ? column & 7 : lanes;
    }
};

RANKLOOP_INLINE float sum_of_lanes(const float* s) {
    float t[8];
    for (std::size_t k = 0; k < 8; ++k) t[k] = (s[k] + s[k + 16]) + (s[k + 8] + s[k + 24]);
    return (((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]))) + s[lanes];
}

// The same of a dense row in double.
struct DoubleLanes {
    static constexpr std::size_t count = 17;
    std::size_t in_16;

    explicit DoubleLanes(std::size_t d) : in_16(d & ~std::size_t{15}) {}
    RANKLOOP_INLINE std::size_t of(std::size_t column) const { return column < in_16 ? column & 15 : 16; }
};

RANKLOOP_INLINE double sum_of_lanes(double* s) {
    for (std::size_t half = 8; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) s[k] += s[k + half];
    }
    return s[0] + s[16];
}

// scores[i] = x_i . w, finite for finite x and w
RANKLOOP_CLONES inline void score_rows(const Csr& x, const float* w, float* scores) {
    const FloatLanes lane(x.d);
    for (std::size_t i = 0; i < x.n; ++i) {
        float sums[FloatLanes::count] = {};
        for (std::size_t k = x.start(i); k < x.start(i + 1); ++k) {
            const auto column = static_cast<std::size_t>(x.columns[k]);
            sums[lane.of(column)] += x.values[k] * w[column];
        }
        scores[i] = sum_of_lanes(sums);
        if (std::abs(scores[i]) <= largest) continue;
        double wide = 0;
        for (std::size_t k = x.start(i); k < x.start(i + 1); ++k)
            wide += static_cast<double>(x.values[k]) * w[x.columns[k]];
        scores[i] = static_cast<float>(std::clamp<double>(wide, -largest, largest));
    }
}

// scores[i] = x_i . w in double
RANKLOOP_CLONES inline void score_rows(const Csr& x, const double* w, double* scores) {
    const DoubleLanes lane(x.d);
    for (std::size_t i = 0; i < x.n; ++i) {
        double sums[DoubleLanes::count] = {};
        for (std::size_t k = x.start(i); k < x.start(i + 1); ++k) {
            const auto column = static_cast<std::size_t>(x.columns[k]);
            sums[lane.of(column)] += static_cast<double>(x.values[k]) * w[column];
        }
        scores[i] = sum_of_lanes(sums);
    }
}

}  // namespace rankloop
