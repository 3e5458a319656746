// What a feature's value means beside the others of its query: its share of the range, and its place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "linalg/vectors.hpp"

namespace rankloop {

// Where results go: row i of x to data + i * stride.
struct MapOutput {
    float* data;
    std::size_t stride;
};

// Lowest and highest value of each feature; missing values (NaN) do not count.
RANKLOOP_CLONES inline void find_ranges(const float* x, std::size_t m, std::size_t d, float* low, float* high) {
    std::fill_n(low, d, std::numeric_limits<float>::infinity());
    std::fill_n(high, d, -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < m; ++i) {
        const float* const row = x + i * d;
        for (std::size_t j = 0; j < d; ++j) {
            low[j] = row[j] < low[j] ? row[j] : low[j];
            high[j] = row[j] > high[j] ? row[j] : high[j];
        }
    }
}

// (x - low) / (high - low) in double; 0 where all are equal.
RANKLOOP_CLONES inline void share_ranges(const float* x, std::size_t m, std::size_t d, const float* low,
                                         const double* span, MapOutput out) {
    for (std::size_t i = 0; i < m; ++i) {
        float* const to = out.data + i * out.stride;
        for (std::size_t j = 0; j < d; ++j)
            to[j] = static_cast<float>((static_cast<double>(x[i * d + j]) - low[j]) / span[j]);
    }
}

inline void minmax_query(const float* x, std::size_t m, std::size_t d, MapOutput out) {
    std::vector<float> low(d), high(d);
    std::vector<double> span(d);
    find_ranges(x, m, d, low.data(), high.data());
    for (std::size_t j = 0; j < d; ++j) span[j] = high[j] > low[j] ? static_cast<double>(high[j]) - low[j] : 1.0;
    share_ranges(x, m, d, low.data(), span.data(), out);
}

// x - low, the lowest value of the query: what is left of features far from 0, exact where it is small beside them
inline void centre_query(const float* x, std::size_t m, std::size_t d, MapOutput out) {
    std::vector<float> low(d), high(d);
    const std::vector<double> span(d, 1.0);
    find_ranges(x, m, d, low.data(), high.data());
    share_ranges(x, m, d, low.data(), span.data(), out);
}

typedef std::int32_t Int8 __attribute__((vector_size(32)));
typedef std::int32_t LooseInt8 __attribute__((vector_size(32), aligned(4), may_alias));
RANKLOOP_INLINE Int8 load_counts(const std::int32_t* p) { return *reinterpret_cast<const LooseInt8*>(p); }
RANKLOOP_INLINE void store_counts(std::int32_t* p, Int8 v) { *reinterpret_cast<LooseInt8*>(p) = v; }

// Whole numbers in the order of the floats; 0 and -0 are one.
RANKLOOP_INLINE std::int32_t sortable(float value) {
    const auto b = std::bit_cast<std::int32_t>(value == 0 ? 0.0f : value);
    return b ^ (b >> 31 & 0x7fffffff);
}

// 1 where value is the larger one, -1 where it is the smaller one
RANKLOOP_INLINE Int8 larger(Int8 value, Int8 other) { return (other > value) - (value > other); }  // true is -1

// places = (number of smaller values + half the number of equal ones) / m of eight columns at once (keys and places m x
// 8), by comparing every pair of rows, four rows at a time: O(m^2). Twice the number sought is m + (smaller ones) -
// (larger ones).
RANKLOOP_CLONES inline void count_places(const std::int32_t* keys, std::size_t m, std::int32_t* counts, float* places) {
    for (std::size_t i = 0; i < m; ++i) store_counts(counts + 8 * i, Int8{} + static_cast<std::int32_t>(m));
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        Int8 value[4], own[4];
        for (std::size_t r = 0; r < 4; ++r)
            value[r] = load_counts(keys + 8 * (i + r)), own[r] = load_counts(counts + 8 * (i + r));
        for (std::size_t r = 0; r < 4; ++r) {
            for (std::size_t other = r + 1; other < 4; ++other) {
                const Int8 won = larger(value[r], value[other]);
                own[r] += won, own[other] -= won;
            }
        }
        for (std::size_t k = i + 4; k < m; ++k) {
            const Int8 other = load_counts(keys + 8 * k);
            const Int8 won[4] = {larger(value[0], other), larger(value[1], other), larger(value[2], other),
                                 larger(value[3], other)};
            for (std::size_t r = 0; r < 4; ++r) own[r] += won[r];
            store_counts(counts + 8 * k, load_counts(counts + 8 * k) - (won[0] + won[1] + won[2] + won[3]));
        }
        for (std::size_t r = 0; r < 4; ++r) store_counts(counts + 8 * (i + r), own[r]);
    }
    for (; i < m; ++i) {
        for (std::size_t k = i + 1; k < m; ++k) {
            const Int8 won = larger(load_counts(keys + 8 * i), load_counts(keys + 8 * k));
            store_counts(counts + 8 * i, load_counts(counts + 8 * i) + won);
            store_counts(counts + 8 * k, load_counts(counts + 8 * k) - won);
        }
    }
    for (std::size_t at = 0; at < 8 * m; ++at)
        places[at] = 0.5f * static_cast<float>(counts[at]) / static_cast<float>(m);
}

// The same by sorting, 11 bits of the values at a time: O(m).
class SortedPlaces {
public:
    void operator()(const float* column, std::size_t m, float* places) {
        constexpr unsigned bits = 11, digits = 3, size = 1u << bits;
        keys_.resize(m), other_.resize(m);
        counts_.assign(digits * size, 0);
        for (std::size_t i = 0; i < m; ++i) {
            const std::uint64_t key = std::bit_cast<std::uint32_t>(sortable(column[i])) ^ 0x80000000u;
            keys_[i] = key << 32 | i;
            for (unsigned digit = 0; digit < digits; ++digit)
                ++counts_[digit * size + (key >> (bits * digit) & (size - 1))];
        }
        for (unsigned digit = 0; digit < digits; ++digit) {
            std::uint32_t* const count = counts_.data() + digit * size;
            const std::uint64_t shift = 32 + bits * digit;
            if (count[keys_[0] >> shift & (size - 1)] == m) continue;  // all alike
            std::uint32_t sum = 0;
            for (unsigned k = 0; k < size; ++k) sum += std::exchange(count[k], sum);
            for (const std::uint64_t key : keys_) other_[count[key >> shift & (size - 1)]++] = key;
            keys_.swap(other_);
        }
        for (std::size_t first = 0, end; first < m; first = end) {
            for (end = first + 1; end < m && keys_[end] >> 32 == keys_[first] >> 32;) ++end;
            const float place =
                (static_cast<float>(first) + 0.5f * static_cast<float>(end - first)) / static_cast<float>(m);
            for (std::size_t k = first; k < end; ++k) places[keys_[k] & 0xffffffffu] = place;
        }
    }

private:
    std::vector<std::uint64_t> keys_, other_;
    std::vector<std::uint32_t> counts_;
};

// The place of each value inside its query, from 0 to 1; ties share their mean place. Values must not be NaN.
class QueryRanks {
public:
    void operator()(const float* x, std::size_t m, std::size_t d, MapOutput out) {
        if (m > count_up_to) return sort(x, m, d, out);
        constexpr std::size_t together = 8;
        keys_.assign(together * m, 0), places_.resize(together * m), counts_.resize(together * m);
        for (std::size_t first = 0; first < d; first += together) {
            const std::size_t some = std::min(together, d - first);
            for (std::size_t i = 0; i < m; ++i)
                std::transform(x + i * d + first, x + i * d + first + some, keys_.data() + i * together, sortable);
            count_places(keys_.data(), m, counts_.data(), places_.data());
            for (std::size_t i = 0; i < m; ++i)
                std::copy_n(places_.data() + i * together, some, out.data + i * out.stride + first);
        }
    }

private:
    static constexpr std::size_t count_up_to = 800;  // documents; beyond, sorting is faster

    std::vector<float> column_, places_;
    std::vector<std::int32_t> keys_, counts_;
    SortedPlaces sorted_;

    void sort(const float* x, std::size_t m, std::size_t d, MapOutput out) {
        constexpr std::size_t together = 16;  // columns that share cache lines
        column_.resize(together * m), places_.resize(together * m);
        for (std::size_t first = 0; first < d; first += together) {
            const std::size_t some = std::min(together, d - first);
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t c = 0; c < some; ++c) column_[c * m + i] = x[i * d + first + c];
            }
            for (std::size_t c = 0; c < some; ++c) sorted_(column_.data() + c * m, m, places_.data() + c * m);
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t c = 0; c < some; ++c) out.data[i * out.stride + first + c] = places_[c * m + i];
            }
        }
    }
};

}  // namespace rankloop
