// The rows of a matrix in another order, without a second matrix.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace rankloop::letor {

// Brings row rows[i] to place i for every i, following each cycle of the permutation with one row aside.
// `rows` must be a permutation; says false, with the matrix unchanged, where it is not.
inline bool gather_rows(float* x, std::size_t n, std::size_t width, const std::int64_t* rows) {
    std::vector<bool> placed(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::uint64_t>(rows[i]);
        if (from >= n || placed[from]) return false;
        placed[from] = true;
    }
    placed.assign(n, false);
    std::vector<float> aside(width);
    const std::size_t bytes = width * sizeof(float);
    for (std::size_t first = 0; bytes && first < n; ++first) {
        if (placed[first]) continue;
        std::memcpy(aside.data(), x + first * width, bytes);
        std::size_t i = first;
        for (auto from = static_cast<std::size_t>(rows[i]); from != first; from = static_cast<std::size_t>(rows[i])) {
            std::memcpy(x + i * width, x + from * width, bytes);
            placed[i] = true;
            i = from;
        }
        std::memcpy(x + i * width, aside.data(), bytes);
        placed[i] = true;
    }
    return true;
}

}  // namespace rankloop::letor
