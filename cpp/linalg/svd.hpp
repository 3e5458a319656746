// Singular values by Jacobi's rotations: slow beside LAPACK, accurate, and with the same bits everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rankloop {

// A (n x d, n <= d) = diag(s) V up to an orthogonal factor: rotates the rows of A, and of `left` (n x n, the identity
// at first) with them, until all are at right angles. Then left' diag(s) V = A, s the lengths of the rows.
inline void rotate_rows(double* a, std::size_t n, std::size_t d, double* left) {
    constexpr int sweeps = 60;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        bool turned = false;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                double *const x = a + p * d, *const y = a + q * d;
                double xx = 0, yy = 0, xy = 0;
                for (std::size_t j = 0; j < d; ++j) xx += x[j] * x[j], yy += y[j] * y[j], xy += x[j] * y[j];
                if (!(std::abs(xy) > 1e-15 * std::sqrt(xx * yy))) continue;
                turned = true;
                const double zeta = (yy - xx) / (2 * xy),
                             t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
                const double c = 1 / std::sqrt(1 + t * t), s = c * t;
                const auto rotate = [c, s](double* u, double* v, std::size_t size) {
                    for (std::size_t j = 0; j < size; ++j) {
                        const double old = u[j];
                        u[j] = c * old - s * v[j], v[j] = s * old + c * v[j];
                    }
                };
                rotate(x, y, d), rotate(left + p * n, left + q * n, n);
            }
        }
        if (!turned) return;
    }
}

}  // namespace rankloop
