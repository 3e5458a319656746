// Random directions, uniformly distributed on the sphere.
#pragma once

#include <cmath>
#include <cstddef>

#include "linalg/math.hpp"

namespace rankloop {

// d normal numbers from uniform draws in [0, 1), two for each two of them (Box and Muller).
inline void normal_numbers(const double* uniform, std::size_t d, double* out) {
    constexpr double two_pi = 0x1.921fb54442d18p2;
    for (std::size_t j = 0; j < d; j += 2) {
        const double radius = std::sqrt(-2 * math::log(1 - uniform[j]));
        const math::Circle turn = math::sin_cos(two_pi * uniform[j + 1]);
        out[j] = radius * turn.cos;
        if (j + 1 < d) out[j + 1] = radius * turn.sin;
    }
}

// A unit vector of d numbers.
inline void unit_direction(const double* uniform, std::size_t d, double* out) {
    normal_numbers(uniform, d, out);
    double squares = 0;
    for (std::size_t j = 0; j < d; ++j) squares += out[j] * out[j];
    const double length = std::sqrt(squares);
    for (std::size_t j = 0; j < d; ++j) out[j] = length > 0 ? out[j] / length : (j == 0 ? 1.0 : 0.0);
}

}  // namespace rankloop
