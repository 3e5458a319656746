// The scatter of features inside queries: sum over queries of X'(diag(h) - h h' / sum h) X, in double.
#pragma once

#include <cmath>

#include "linalg/matmul.hpp"
#include "linalg/products.hpp"

namespace rankloop {

// Rows less their mean, times the root of h.
RANKLOOP_CLONES inline void centred_rows(const float* x, std::size_t m, std::size_t d, const double* h,
                                         const double* mean, double* rows) {
    for (std::size_t i = 0; i < m; ++i) {
        const double root = std::sqrt(h[i]);
        for (std::size_t j = 0; j < d; ++j) rows[i * d + j] = root * (x[i * d + j] - mean[j]);
    }
}

// out, d x d
inline void query_scatter(const float* x, const std::int64_t* offsets, std::size_t queries, std::size_t d,
                          const double* h, double* out, unsigned threads) {
    constexpr std::size_t blocks = 8, max_rows = 128;
    std::vector<double> sum(d * d);
    sum_blocks(blocks, 1, sum.size(), sum.data(), threads, [&](std::size_t b, double* own) {
        std::vector<double> mean(d), rows(max_rows * d);
        Products<double> products;
        const View<const double> view{rows.data(), d};
        for (std::size_t q = queries * b / blocks; q < queries * (b + 1) / blocks; ++q) {
            const auto first = static_cast<std::size_t>(offsets[q]), end = static_cast<std::size_t>(offsets[q + 1]);
            double total = 0;
            for (std::size_t i = first; i < end; ++i) total += h[i];
            if (!(total > 0)) continue;
            std::fill(mean.begin(), mean.end(), 0.0);
            add_weighted_rows(x + first * d, end - first, d, h + first, mean.data());
            for (double& value : mean) value /= total;
            for (std::size_t i = first; i < end; i += max_rows) {
                const std::size_t m = std::min(max_rows, end - i);
                centred_rows(x + i * d, m, d, h + i, mean.data(), rows.data());
                products.add(view.transposed(), view, d, d, m, {own, d}, Shape::upper);
            }
        }
    });
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) out[i * d + j] = sum[std::min(i, j) * d + std::max(i, j)];
    }
}

}  // namespace rankloop
