// Small loops over whole arrays.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "linalg/clones.hpp"

namespace rankloop {

// Index of the first value that is infinite (or NaN, unless allowed), or -1. One pass, no copy.
RANKLOOP_CLONES inline std::int64_t first_not_finite(const float* x, std::size_t n, bool allow_nan) {
    constexpr std::size_t block = 4096;
    for (std::size_t start = 0; start < n; start += block) {
        const std::size_t end = start + block < n ? start + block : n;
        unsigned bad = 0;
        for (std::size_t i = start; i < end; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
            bad |= allow_nan ? bits == 0x7f800000u : bits >= 0x7f800000u;
        }
        if (!bad) continue;
        for (std::size_t i = start; i < end; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
            if (allow_nan ? bits == 0x7f800000u : bits >= 0x7f800000u) return static_cast<std::int64_t>(i);
        }
    }
    return -1;
}

}  // namespace rankloop
