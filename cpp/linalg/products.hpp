// Products with float32 rows, added up in double: X w, X' r, and the spread of each feature inside
// queries. Rows are taken in blocks whose sums are added in order: the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/clones.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rows.hpp"

namespace rankloop {

constexpr std::size_t rows_a_block = 1024;

// sum += r_i x_i, four rows at a time
RANKLOOP_CLONES inline void add_weighted_rows(const float* x, std::size_t m, std::size_t d, const double* r,
                                              double* sum) {
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        const float *const a = x + i * d, *const b = a + d, *const c = b + d, *const e = c + d;
        const double ra = r[i], rb = r[i + 1], rc = r[i + 2], re = r[i + 3];
        if (ra == 0 && rb == 0 && rc == 0 && re == 0) continue;
        for (std::size_t j = 0; j < d; ++j) sum[j] += (ra * a[j] + rb * b[j]) + (rc * c[j] + re * e[j]);
    }
    for (; i < m; ++i) {
        for (std::size_t j = 0; j < d; ++j) sum[j] += r[i] * x[i * d + j];
    }
}

// spread += sum h x^2 - (sum h x)^2 / sum h of one query's rows, a feature at a time
RANKLOOP_CLONES inline void add_spread(const float* x, std::size_t m, std::size_t d, const double* h, double* mean,
                                       double* spread) {
    double total = 0;
    for (std::size_t i = 0; i < m; ++i) total += h[i];
    if (!(total > 0)) return;
    for (std::size_t j = 0; j < d; ++j) mean[j] = 0;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < d && h[i] > 0; ++j) mean[j] += h[i] / total * x[i * d + j];
    }
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < d && h[i] > 0; ++j) {
            const double gap = x[i * d + j] - mean[j];
            spread[j] += h[i] * gap * gap;
        }
    }
}

// out = sum over blocks of body(block, its own d sums), blocks added in order
template <typename Body>
void sum_blocks(std::size_t blocks, std::size_t least, std::size_t d, double* out, unsigned threads, const Body& body) {
    std::vector<double> sums(blocks * d, 0.0);
    parallel_parts(blocks, least, threads, [&](std::size_t from, std::size_t to) {
        for (std::size_t b = from; b < to; ++b) body(b, sums.data() + b * d);
    });
    std::fill_n(out, d, 0.0);
    for (std::size_t b = 0; b < blocks; ++b) {
        for (std::size_t j = 0; j < d; ++j) out[j] += sums[b * d + j];
    }
}

inline void row_products(const float* x, std::size_t n, std::size_t d, const double* w, double* out, unsigned threads) {
    parallel_parts(n, 4 * rows_a_block, threads,
                   [&](std::size_t from, std::size_t to) { score_rows(x + from * d, to - from, d, w, out + from); });
}

inline void column_products(const float* x, std::size_t n, std::size_t d, const double* r, double* out,
                            unsigned threads) {
    sum_blocks((n + rows_a_block - 1) / rows_a_block, 4, d, out, threads, [&](std::size_t b, double* sum) {
        const std::size_t first = b * rows_a_block;
        add_weighted_rows(x + first * d, std::min(rows_a_block, n - first), d, r + first, sum);
    });
}

inline void column_spreads(const float* x, const std::int64_t* offsets, std::size_t queries, std::size_t d,
                           const double* h, double* out, unsigned threads) {
    constexpr std::size_t queries_a_block = 64;
    sum_blocks((queries + queries_a_block - 1) / queries_a_block, 1, d, out, threads, [&](std::size_t b, double* sum) {
        std::vector<double> mean(d);
        for (std::size_t q = b * queries_a_block; q < std::min(queries, (b + 1) * queries_a_block); ++q) {
            const auto first = static_cast<std::size_t>(offsets[q]);
            add_spread(x + first * d, static_cast<std::size_t>(offsets[q + 1]) - first, d, h + first, mean.data(), sum);
        }
    });
}

}  // namespace rankloop
