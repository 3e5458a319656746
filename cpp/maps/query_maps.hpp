// What a feature's value means beside the others of its query: its share of the range, and its place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "linalg/clones.hpp"

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
RANKLOOP_CLONES inline void share_ranges(const float* x, std::size_t m, std::size_t d, const float* low, const double* span, MapOutput out) {
    for (std::size_t i = 0; i < m; ++i) {
        float* const to = out.data + i * out.stride;
        for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<float>((static_cast<double>(x[i * d + j]) - low[j]) / span[j]);
    }
}

inline void minmax_query(const float* x, std::size_t m, std::size_t d, MapOutput out) {
    std::vector<float> low(d), high(d);
    std::vector<double> span(d);
    find_ranges(x, m, d, low.data(), high.data());
    for (std::size_t j = 0; j < d; ++j) span[j] = high[j] > low[j] ? static_cast<double>(high[j]) - low[j] : 1.0;
    share_ranges(x, m, d, low.data(), span.data(), out);
}

// places[i] = (number of smaller values + half the number of equal ones) / m, by counting: O(m^2), eight at a time
RANKLOOP_CLONES inline void count_places(const float* column, std::size_t m, float* places) {
    for (std::size_t i = 0; i < m; ++i) {
        const float value = column[i];
        std::int32_t smaller = 0, equal = 0;
        for (std::size_t k = 0; k < m; ++k) smaller += column[k] < value, equal += column[k] == value;
        places[i] = (static_cast<float>(smaller) + 0.5f * static_cast<float>(equal)) / static_cast<float>(m);
    }
}

// The same by sorting, 11 bits of the values at a time: O(m).
class SortedPlaces {
public:
    void operator()(const float* column, std::size_t m, float* places) {
        constexpr unsigned bits = 11, digits = 3, size = 1u << bits;
        keys_.resize(m), other_.resize(m);
        counts_.assign(digits * size, 0);
        for (std::size_t i = 0; i < m; ++i) {
            const std::uint64_t key = sortable(column[i]);
            keys_[i] = key << 32 | i;
            for (unsigned digit = 0; digit < digits; ++digit) ++counts_[digit * size + (key >> (bits * digit) & (size - 1))];
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
            const float place = (static_cast<float>(first) + 0.5f * static_cast<float>(end - first)) / static_cast<float>(m);
            for (std::size_t k = first; k < end; ++k) places[keys_[k] & 0xffffffffu] = place;
        }
    }

private:
    std::vector<std::uint64_t> keys_, other_;
    std::vector<std::uint32_t> counts_;

    // Whole numbers in the order of the floats; 0 and -0 are one.
    static std::uint32_t sortable(float value) {
        const auto b = std::bit_cast<std::uint32_t>(value == 0 ? 0.0f : value);
        return b & 0x80000000u ? ~b : b | 0x80000000u;
    }
};

// The place of each value inside its query, from 0 to 1; ties share their mean place. Values must not be NaN.
class QueryRanks {
public:
    void operator()(const float* x, std::size_t m, std::size_t d, MapOutput out) {
        constexpr std::size_t together = 16;  // columns that share cache lines
        column_.resize(together * m), places_.resize(together * m);
        for (std::size_t first = 0; first < d; first += together) {
            const std::size_t some = std::min(together, d - first);
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t c = 0; c < some; ++c) column_[c * m + i] = x[i * d + first + c];
            }
            for (std::size_t c = 0; c < some; ++c) {
                if (m > count_up_to) sorted_(column_.data() + c * m, m, places_.data() + c * m);
                else count_places(column_.data() + c * m, m, places_.data() + c * m);
            }
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t c = 0; c < some; ++c) out.data[i * out.stride + first + c] = places_[c * m + i];
            }
        }
    }

private:
    static constexpr std::size_t count_up_to = 160;  // documents; beyond, sorting is faster

    std::vector<float> column_, places_;
    SortedPlaces sorted_;
};

}  // namespace rankloop
