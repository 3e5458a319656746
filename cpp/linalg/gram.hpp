// The documents of a query as columns, and their products with each other: K = X X'.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linalg/clones.hpp"
#include "linalg/vectors.hpp"

namespace rankloop {

// Floats from one row of columns to the next: whole cache lines, an odd number of them, so that a
// walk down a column does not fall on the same few places of the cache.
inline std::size_t column_stride(std::size_t n) { return ((n + 15) / 16 | 1) * 16; }

// t (d x stride) = the rows named by `documents`, as columns, less the first of them: differences
// stay and products stay small. The last block of 16 is filled up with 0.
RANKLOOP_CLONES inline void gather_columns(const float* x, const std::uint32_t* documents, std::size_t n, std::size_t d,
                                           std::size_t stride, float* t) {
    constexpr std::size_t together = 16;
    const float* const origin = x + documents[0] * d;
    for (std::size_t first = 0; first < n; first += together) {
        const float* rows[together];
        for (std::size_t l = 0; l < together; ++l) rows[l] = first + l < n ? x + documents[first + l] * d : origin;
        for (std::size_t j = 0; j < d; ++j) {
            float* __restrict const to = t + j * stride + first;
#pragma GCC unroll 16
            for (std::size_t l = 0; l < together; ++l) to[l] = rows[l][j] - origin[j];
        }
    }
}

// R x 16 products, held in registers.
template <std::size_t R>
__attribute__((always_inline)) inline void gram_tile(const float* left, const float* right, std::size_t d,
                                                     std::size_t stride, float* k) {
    Float8 sums[R][2] = {};
    for (std::size_t j = 0; j < d; ++j, left += stride, right += stride) {
        const Float8 a = load8(right), b = load8(right + 8);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r) sums[r][0] += left[r] * a, sums[r][1] += left[r] * b;
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) store8(k + r * stride, sums[r][0]), store8(k + r * stride + 8, sums[r][1]);
}

// K (n x stride) of the columns t (d x stride): O(n^2 d). What stands right of column n is not for use.
RANKLOOP_CLONES inline void gram(const float* t, std::size_t n, std::size_t d, std::size_t stride, float* k) {
    constexpr std::size_t R = 6, C = 16;
    for (std::size_t i = 0; i < n;) {
        const bool whole = i + R <= n;
        for (std::size_t c = i / C * C; c < n; c += C) {
            if (whole)
                gram_tile<R>(t + i, t + c, d, stride, k + i * stride + c);
            else
                gram_tile<1>(t + i, t + c, d, stride, k + i * stride + c);
        }
        i += whole ? R : 1;
    }
    for (std::size_t first = 0; first < n; first += C) {  // the lower half mirrors the upper
        for (std::size_t i = first; i < n; ++i) {
            for (std::size_t c = first; c < std::min(i, first + C); ++c) k[i * stride + c] = k[c * stride + i];
        }
    }
}

}  // namespace rankloop
