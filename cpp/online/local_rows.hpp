// The sparse rows of one query over the columns that they have, so that learning from a query costs what its nonzeros
// cost, however many features there are.
#pragma once

#include <bit>
#include <vector>

#include "linalg/csr.hpp"

namespace rankloop {

struct LocalRows {
    Csr x;                               // the rows, over all columns
    std::vector<std::uint32_t> columns;  // those that the rows have, rising
    std::vector<std::uint32_t> places;   // of each entry: its column's place among them
    std::vector<std::uint8_t> lane;      // of each column: the lane of its products in a score

    std::size_t d() const { return columns.size(); }
    std::size_t start(std::size_t i) const { return x.start(i) - x.start(0); }
    const float* values() const { return x.values + x.start(0); }

    // Calls body(place, value) for the entries of a row.
    template <typename Body>
    RANKLOOP_INLINE void each(std::size_t i, const Body& body) const {
        const float* const v = values();
        for (std::size_t k = start(i), end = start(i + 1); k < end; ++k) body(places[k], v[k]);
    }

    // Calls body(place, x_i - x_k) for all columns that either row has, rising.
    template <typename Body>
    void each_difference(std::size_t i, std::size_t k, const Body& body) const {
        const float* const v = values();
        std::size_t a = start(i), b = start(k);
        const std::size_t a_end = start(i + 1), b_end = start(k + 1);
        while (a < a_end || b < b_end) {
            const bool left = b == b_end || (a < a_end && places[a] <= places[b]),
                       right = a == a_end || (b < b_end && places[b] <= places[a]);
            body(left ? places[a] : places[b], (left ? static_cast<double>(v[a]) : 0.0) - (right ? v[b] : 0.0f));
            a += left, b += right;
        }
    }

    void add_row(std::size_t i, double by, double* w) const {
        each(i, [=](std::size_t place, float value) { w[place] += by * value; });
    }

    // w += sum of g_i x_i, over rows with g_i != 0
    void add(std::size_t m, const double* g, double* w) const {
        for (std::size_t i = 0; i < m; ++i) {
            if (g[i] != 0) add_row(i, g[i], w);
        }
    }

    // x_i . w in double
    double score(std::size_t i, const double* w) const {
        const DoubleLanes lanes(x.d);
        double sums[DoubleLanes::count] = {};
        each(i, [&](std::size_t place, float value) {
            sums[lanes.of(columns[place])] += static_cast<double>(value) * w[place];
        });
        return sum_of_lanes(sums);
    }
};

// scores[i] = x_i . w, finite for finite x and w
RANKLOOP_CLONES inline void score_rows(const LocalRows& rows, std::size_t m, const float* w, float* scores) {
    for (std::size_t i = 0; i < m; ++i) {
        float sums[FloatLanes::count] = {};
        rows.each(i, [&](std::size_t place, float value)
                         __attribute__((always_inline)) { sums[rows.lane[place]] += value * w[place]; });
        scores[i] = sum_of_lanes(sums);
        if (std::abs(scores[i]) <= largest) continue;
        double wide = 0;
        rows.each(i, [&](std::size_t place, float value) { wide += static_cast<double>(value) * w[place]; });
        scores[i] = static_cast<float>(std::clamp<double>(wide, -largest, largest));
    }
}

// |a - b|^2 of weights at these columns, others being equal
inline double squared_distance(const LocalRows& rows, const double* a, const double* b) {
    double sums[8] = {};
    for (std::size_t c = 0; c < rows.d(); ++c) sums[rows.columns[c] & 7] += (a[c] - b[c]) * (a[c] - b[c]);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// The place of each entry's column among those whose bits are set; `before` counts those before each word.
RANKLOOP_CLONES inline void place_entries(const Csr& x, const std::uint64_t* words, const std::uint32_t* before,
                                          std::uint32_t* places) {
    const std::int32_t* const columns = x.columns + x.start(0);
    for (std::size_t k = 0, n = x.start(x.n) - x.start(0); k < n; ++k) {
        const auto column = static_cast<std::size_t>(columns[k]);
        const std::uint64_t lower = words[column / 64] & ((std::uint64_t{1} << column % 64) - 1);
        places[k] = before[column / 64] + static_cast<std::uint32_t>(std::popcount(lower));
    }
}

// Finds the columns of queries: O(nonzeros + d / 4096) each, and d / 4 bits of memory.
class ColumnFinder {
public:
    explicit ColumnFinder(std::size_t d)
        : lanes_(d),
          words_(d / 64 + 1),
          summary_(words_.size() / 64 + 1),
          before_(words_.size()) {}

    void find(const Csr& x, LocalRows& rows) {
        rows.x = x;
        rows.columns.clear();
        rows.places.resize(x.start(x.n) - x.start(0));
        mark(x);
        list(rows.columns);
        place_entries(x, words_.data(), before_.data(), rows.places.data());
        rows.lane.resize(rows.columns.size());
        for (std::size_t c = 0; c < rows.columns.size(); ++c)
            rows.lane[c] = static_cast<std::uint8_t>(lanes_.of(rows.columns[c]));
        for (const std::uint32_t column : rows.columns) words_[column / 64] = 0, summary_[column / 4096] = 0;
    }

private:
    FloatLanes lanes_;
    std::vector<std::uint64_t> words_, summary_;  // a bit a column that there is, and a bit a word with one
    std::vector<std::uint32_t> before_;           // columns before those of a word

    void mark(const Csr& x) {
        for (std::size_t k = x.start(0); k < x.start(x.n); ++k) {
            const auto column = static_cast<std::size_t>(x.columns[k]);
            words_[column / 64] |= std::uint64_t{1} << column % 64;
            summary_[column / 4096] |= std::uint64_t{1} << column / 64 % 64;
        }
    }

    void list(std::vector<std::uint32_t>& columns) {
        for (std::size_t s = 0; s < summary_.size(); ++s) {
            for (std::uint64_t rest = summary_[s]; rest; rest &= rest - 1) {
                const std::size_t word = s * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                before_[word] = static_cast<std::uint32_t>(columns.size());
                for (std::uint64_t bits = words_[word]; bits; bits &= bits - 1)
                    columns.push_back(
                        static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
            }
        }
    }
};

}  // namespace rankloop
