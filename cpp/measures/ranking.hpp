// The one place that decides rank order and ties: higher scores first, then smaller keys, then
// earlier documents. A score of minus infinity means "not retrieved" and takes no rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "linalg/clones.hpp"

namespace rankloop {

constexpr std::size_t count_up_to = 192;  // documents; beyond, sorting is faster than counting

// ranks[i] = how many documents come before document i. O(m^2), but eight comparisons at a time.
RANKLOOP_CLONES inline void count_ranks(const float* s, std::size_t m, std::int32_t* ranks) {
    for (std::size_t i = 0; i < m; ++i) {
        const float si = s[i];
        std::int32_t before = 0;
        for (std::size_t j = 0; j < i; ++j) before += s[j] >= si;
        for (std::size_t j = i + 1; j < m; ++j) before += s[j] > si;
        ranks[i] = before;
    }
}

RANKLOOP_CLONES inline void count_ranks(const double* s, std::size_t m, std::int32_t* ranks) {
    for (std::size_t i = 0; i < m; ++i) {
        const double si = s[i];
        std::int64_t before = 0;
        for (std::size_t j = 0; j < i; ++j) before += s[j] >= si;
        for (std::size_t j = i + 1; j < m; ++j) before += s[j] > si;
        ranks[i] = static_cast<std::int32_t>(before);
    }
}

// found[i] = how many scores are larger than score i, four at a time; `padded` is a multiple of 8, and
// what pads the scores is minus infinity. Fills found up to the next multiple of 4 past m.
RANKLOOP_CLONES inline void count_larger(const float* s, std::size_t m, std::size_t padded, std::int32_t* found) {
    for (std::size_t i = 0; i < m; i += 4) {
        const float a = s[i], b = s[i + 1], c = s[i + 2], d = s[i + 3];
        std::int32_t na = 0, nb = 0, nc = 0, nd = 0;
        for (std::size_t j = 0; j < padded; ++j) {
            na += s[j] > a;
            nb += s[j] > b;
            nc += s[j] > c;
            nd += s[j] > d;
        }
        found[i] = na, found[i + 1] = nb, found[i + 2] = nc, found[i + 3] = nd;
    }
}

// count_ranks for m <= count_up_to, faster where no scores are tied: a tied pair takes one off the sum.
inline void quick_ranks(const float* s, std::size_t m, std::int32_t* ranks) {
    float row[count_up_to] = {};
    std::int32_t found[count_up_to];
    const std::size_t padded = (m + 7) / 8 * 8;
    std::copy_n(s, m, row);
    std::fill(row + m, row + padded, -std::numeric_limits<float>::infinity());
    count_larger(row, m, padded, found);
    if (std::accumulate(found, found + m, std::size_t{0}) == m * (m - 1) / 2) {
        std::copy_n(found, m, ranks);
    } else {
        count_ranks(s, m, ranks);
    }
}

inline void quick_ranks(const double* s, std::size_t m, std::int32_t* ranks) { count_ranks(s, m, ranks); }

// Fills order with the documents of one query, best first; returns how many were retrieved.
// `scratch` has room for m numbers. Scores must not be NaN.
template <typename Score>
std::size_t rank_query(const Score* s, const std::int64_t* keys, std::size_t m, std::int32_t* order,
                       std::int32_t* scratch) {
    if (!keys && m <= count_up_to) {
        quick_ranks(s, m, scratch);
        for (std::size_t i = 0; i < m; ++i) order[scratch[i]] = static_cast<std::int32_t>(i);
    } else {
        std::iota(order, order + m, 0);
        std::sort(order, order + m, [s, keys](std::int32_t a, std::int32_t b) {
            if (s[a] != s[b]) return s[a] > s[b];
            if (keys && keys[a] != keys[b]) return keys[a] < keys[b];
            return a < b;
        });
    }
    std::size_t retrieved = m;
    while (retrieved > 0 && s[order[retrieved - 1]] == -std::numeric_limits<Score>::infinity()) --retrieved;
    return retrieved;
}

}  // namespace rankloop
