// Kernels of every row of X with every row of Z, float32 in and out.
#pragma once

#include <bit>

#include "linalg/math.hpp"
#include "linalg/matmul.hpp"
#include "linalg/rows.hpp"

namespace rankloop {

// e^x for x <= 0, eight at a time; what is below the range of a float is 0.
RANKLOOP_CLONES inline void exp_below_0(float* x, std::size_t n) {
    constexpr double log2_e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    // a loop of its own: the compiler would branch on what is out of range, and use no vectors
    for (std::size_t i = 0; i < n; ++i) {
        const float below = x[i] < 0 ? x[i] : 0.0f;
        x[i] = below > -200 ? below : -200.0f;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double value = x[i];
        const double shifted = value * log2_e + math::rounder, k = shifted - math::rounder;
        const double scale = std::bit_cast<double>((math::low_bits(shifted) + 1023) << 52);
        x[i] = static_cast<float>(math::exp_near_0((value - k * ln2_high) - k * ln2_low) * scale);
    }
}

RANKLOOP_CLONES inline void squared_lengths(const float* x, std::size_t n, std::size_t d, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = dot(x + i * d, x + i * d, d);
}

// Rows less `origin`, times scale.
RANKLOOP_CLONES inline void place_rows(const float* x, std::size_t n, std::size_t d, const float* origin, float scale,
                                       float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) out[i * d + j] = (x[i * d + j] - origin[j]) * scale;
    }
}

RANKLOOP_CLONES inline void take_halves(float* k, std::size_t n, std::size_t m, const float* x, const float* z) {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
            const float value = (k[i * m + j] - 0.5f * x[i]) - 0.5f * z[j];
            k[i * m + j] = value == value ? value : -std::numeric_limits<float>::infinity();  // too far to tell how far
        }
    }
}

// exp(-|x - z|^2 scale^2 / 2); rows are moved to near 0 first, which distances ignore.
inline void rbf_rows(const float* x, std::size_t n, const float* z, std::size_t m, std::size_t d, float scale,
                     float* k) {
    if (n == 0 || m == 0) return;
    std::vector<float> left(n * d), right(m * d), x_lengths(n), z_lengths(m);
    place_rows(x, n, d, z, scale, left.data()), place_rows(z, m, d, z, scale, right.data());
    squared_lengths(left.data(), n, d, x_lengths.data()), squared_lengths(right.data(), m, d, z_lengths.data());
    std::fill_n(k, n * m, 0.0f);
    Products<float>().add({left.data(), d}, View<const float>{right.data(), d}.transposed(), n, m, d, {k, m});
    take_halves(k, n, m, x_lengths.data(), z_lengths.data());
    exp_below_0(k, n * m);
}

// sum_j (x_j - z_j)^2 / (x_j + z_j), for features from 0
RANKLOOP_CLONES inline float chi_distance(const float* x, const float* z, std::size_t d) {
    constexpr std::size_t K = 8;
    float sums[K] = {};
    std::size_t j = 0;
    for (; j + K <= d; j += K) {
        for (std::size_t k = 0; k < K; ++k) {
            const float total = x[j + k] + z[j + k], apart = x[j + k] - z[j + k];
            sums[k] += apart * apart / (total > 0 ? total : 1.0f);
        }
    }
    for (std::size_t k = 0; j < d; ++j, ++k) {
        const float total = x[j] + z[j], apart = x[j] - z[j];
        sums[k] += apart * apart / (total > 0 ? total : 1.0f);
    }
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

inline void chi_rows(const float* x, std::size_t n, const float* z, std::size_t m, std::size_t d, float gamma,
                     float* k) {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) k[i * m + j] = -gamma * chi_distance(x + i * d, z + j * d, d);
        exp_below_0(k + i * m, m);
    }
}

}  // namespace rankloop
