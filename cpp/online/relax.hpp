// Relaxation with a margin over a block of samples, one after the other, in the space of samples.
#pragma once

#include <cstddef>

#include "linalg/clones.hpp"

namespace rankloop {

// Sample i wants its score in [low_i, high_i]. Where it is not, a whole step would move it to the
// nearer end; it takes `share_i` of that, and with it all later scores move along gram (n x n).
// whole[i] = the coefficient of the whole step, 0 where none is needed. Returns the sum of squared
// shortfalls over twice their lengths, which is what is made small.
RANKLOOP_CLONES inline double relax_rows(const float* gram, double* s, const double* low, const double* high,
                                         const double* share, std::size_t n, double* whole) {
    double lost = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double short_of = s[i] < low[i] ? low[i] - s[i] : s[i] > high[i] ? high[i] - s[i] : 0;
        const float* const row = gram + i * n;
        const double length = row[i];
        whole[i] = short_of != 0 && length > 0 ? short_of / length : 0;
        if (whole[i] == 0) continue;
        lost += short_of * whole[i] / 2;
        const double step = share[i] * whole[i];
        for (std::size_t j = i + 1; j < n; ++j) s[j] += step * static_cast<double>(row[j]);
    }
    return lost;
}

}  // namespace rankloop
