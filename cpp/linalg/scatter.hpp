// The scatter of features inside queries: sum over queries of X'(diag(h) - h h' / sum h) X, in double.
#pragma once

#include <cmath>

#include "losses/logistic.hpp"
#include "linalg/products.hpp"

namespace rankloop {

// Rows less their mean, times the root of h, `width` wide and filled with 0 behind the features.
RANKLOOP_CLONES inline void centred_rows(const float* x, std::size_t m, std::size_t d, const double* h, const double* mean,
                                         std::size_t width, double* rows) {
    for (std::size_t i = 0; i < m; ++i) {
        const double root = std::sqrt(h[i]);
        for (std::size_t j = 0; j < d; ++j) rows[i * width + j] = root * (x[i * d + j] - mean[j]);
        for (std::size_t j = d; j < width; ++j) rows[i * width + j] = 0;
    }
}

// s += rows' rows on and above the diagonal, in tiles of 4 x 8 held in registers; both are `width` wide, a
// multiple of 8.
RANKLOOP_CLONES inline void add_gram(const double* rows, std::size_t m, std::size_t width, double* s) {
    for (std::size_t i = 0; i < width; i += 4) {
        for (std::size_t j = i / 8 * 8; j < width; j += 8) {
            Double4 a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, e0{}, e1{};
            const double *left = rows + i, *up = rows + j;
            for (std::size_t r = 0; r < m; ++r, left += width, up += width) {
                const Double4 u = *reinterpret_cast<const UnalignedDouble4*>(up), v = *reinterpret_cast<const UnalignedDouble4*>(up + 4);
                a0 += left[0] * u, a1 += left[0] * v;
                b0 += left[1] * u, b1 += left[1] * v;
                c0 += left[2] * u, c1 += left[2] * v;
                e0 += left[3] * u, e1 += left[3] * v;
            }
            const Double4 tile[4][2] = {{a0, a1}, {b0, b1}, {c0, c1}, {e0, e1}};
            for (std::size_t r = 0; r < 4; ++r) {
                double* const target = s + (i + r) * width + j;
                *reinterpret_cast<UnalignedDouble4*>(target) += tile[r][0];
                *reinterpret_cast<UnalignedDouble4*>(target + 4) += tile[r][1];
            }
        }
    }
}

// out, d x d
inline void query_scatter(const float* x, const std::int64_t* offsets, std::size_t queries, std::size_t d, const double* h,
                          double* out, unsigned threads) {
    constexpr std::size_t blocks = 8, most_rows = 128;
    const std::size_t width = (d + 7) / 8 * 8;
    std::vector<double> sum(width * width);
    sum_blocks(blocks, 1, sum.size(), sum.data(), threads, [&](std::size_t b, double* own) {
        std::vector<double> mean(d), rows(most_rows * width);
        for (std::size_t q = queries * b / blocks; q < queries * (b + 1) / blocks; ++q) {
            const auto first = static_cast<std::size_t>(offsets[q]), end = static_cast<std::size_t>(offsets[q + 1]);
            double total = 0;
            for (std::size_t i = first; i < end; ++i) total += h[i];
            if (!(total > 0)) continue;
            std::fill(mean.begin(), mean.end(), 0.0);
            add_weighted_rows(x + first * d, end - first, d, h + first, mean.data());
            for (double& value : mean) value /= total;
            for (std::size_t i = first; i < end; i += most_rows) {
                const std::size_t m = std::min(most_rows, end - i);
                centred_rows(x + i * d, m, d, h + i, mean.data(), width, rows.data());
                add_gram(rows.data(), m, width, own);
            }
        }
    });
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) out[i * d + j] = sum[std::min(i, j) * width + std::max(i, j)];
    }
}

}  // namespace rankloop
