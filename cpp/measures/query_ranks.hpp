// The place of each feature's value inside its query, from 0 to 1; ties share their mean place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/clones.hpp"

namespace rankloop {

// places[i] = (number of smaller values + half the number of equal ones) / m
RANKLOOP_CLONES inline void place_values(const float* column, std::size_t m, float* places) {
    for (std::size_t i = 0; i < m; ++i) {
        const float value = column[i];
        std::int32_t smaller = 0, equal = 0;
        for (std::size_t k = 0; k < m; ++k) smaller += column[k] < value, equal += column[k] == value;
        places[i] = (static_cast<float>(smaller) + 0.5f * static_cast<float>(equal)) / static_cast<float>(m);
    }
}

inline void query_ranks(const float* x, std::size_t d, const std::int64_t* offsets, std::size_t queries, float* out) {
    std::vector<float> column, places;
    for (std::size_t q = 0; q < queries; ++q) {
        const auto first = static_cast<std::size_t>(offsets[q]);
        const std::size_t m = static_cast<std::size_t>(offsets[q + 1]) - first;
        column.resize(m), places.resize(m);
        for (std::size_t j = 0; j < d; ++j) {
            for (std::size_t i = 0; i < m; ++i) column[i] = x[(first + i) * d + j];
            place_values(column.data(), m, places.data());
            for (std::size_t i = 0; i < m; ++i) out[(first + i) * d + j] = places[i];
        }
    }
}

}  // namespace rankloop
