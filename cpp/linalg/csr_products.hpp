// Products with sparse rows, added up in double: X w, X' r, and the spread of each feature inside queries, as
// linalg/products.hpp has them of dense ones. Threads share columns, not rows: a column's sum is taken in the order
// of the rows whatever their number, and needs no memory but the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linalg/csr.hpp"
#include "linalg/parallel.hpp"

namespace rankloop {

constexpr std::size_t entries_a_thread = std::size_t{1} << 16;

inline void row_products(const Csr& x, const double* w, double* out, unsigned threads) {
    parallel_parts(x.n, 4096, threads,
                   [&](std::size_t from, std::size_t to) { score_rows(x.from(from, to - from), w, out + from); });
}

// Calls body(row, entry) for the entries of some rows in columns `from` to `to`.
template <typename Body>
RANKLOOP_INLINE void each_entry(const Csr& x, std::size_t first, std::size_t end, std::size_t from, std::size_t to,
                                const Body& body) {
    const bool all = from == 0 && to == x.d;
    for (std::size_t i = first; i < end; ++i) {
        std::size_t k = x.start(i);
        const std::size_t stop = x.start(i + 1);
        if (!all)
            k = static_cast<std::size_t>(
                std::lower_bound(x.columns + k, x.columns + stop, static_cast<std::int32_t>(from)) - x.columns);
        for (; k < stop && static_cast<std::size_t>(x.columns[k]) < to; ++k) body(i, k);
    }
}

// Calls body(from, to) on parts of the columns, where there are entries enough for threads to pay.
template <typename Body>
void parallel_columns(const Csr& x, unsigned threads, const Body& body) {
    const std::size_t entries = x.start(x.n) - x.start(0), worth = entries / entries_a_thread + 1;
    parallel_parts(x.d, 1 + x.d / worth, threads, body);
}

inline void column_products(const Csr& x, const double* r, double* out, unsigned threads) {
    std::fill_n(out, x.d, 0.0);
    parallel_columns(x, threads, [&](std::size_t from, std::size_t to) {
        each_entry(x, 0, x.n, from, to, [&](std::size_t i, std::size_t k) { out[x.columns[k]] += r[i] * x.values[k]; });
    });
}

// Rows without an entry in a column are 0 there: what they add to its spread follows from how much they weigh.
inline void column_spreads(const Csr& x, const std::int64_t* offsets, std::size_t queries, const double* h, double* out,
                           unsigned threads) {
    std::fill_n(out, x.d, 0.0);
    std::vector<double> mean(x.d), held(x.d);  // of a query, by column; 0 between queries
    parallel_columns(x, threads, [&](std::size_t from, std::size_t to) {
        std::vector<std::int32_t> met;
        for (std::size_t q = 0; q < queries; ++q) {
            const auto first = static_cast<std::size_t>(offsets[q]), end = static_cast<std::size_t>(offsets[q + 1]);
            double total = 0;
            for (std::size_t i = first; i < end; ++i) total += h[i];
            if (!(total > 0)) continue;
            met.clear();
            each_entry(x, first, end, from, to, [&](std::size_t i, std::size_t k) {
                if (!(h[i] > 0)) return;
                const std::int32_t j = x.columns[k];
                if (held[j] == 0) met.push_back(j);
                mean[j] += h[i] / total * x.values[k], held[j] += h[i];
            });
            each_entry(x, first, end, from, to, [&](std::size_t i, std::size_t k) {
                const double gap = x.values[k] - mean[x.columns[k]];
                if (h[i] > 0) out[x.columns[k]] += h[i] * gap * gap;
            });
            for (const std::int32_t j : met) {
                out[j] += std::max(0.0, total - held[j]) * mean[j] * mean[j];
                mean[j] = held[j] = 0;
            }
        }
    });
}

}  // namespace rankloop
