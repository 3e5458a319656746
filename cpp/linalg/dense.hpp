// Small dense linear algebra for the second-order learners: row-major, in the caller's memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "linalg/clones.hpp"

namespace rankloop {

// Row i of A, from column i on, for i in 0..d: A = U'U in place, and the `extra` columns to the
// right become U'^-1 times what they were. A is d x (d + extra), positive definite on the left.
RANKLOOP_CLONES inline bool cholesky_augmented(double* a, std::size_t d, std::size_t extra) {
    const std::size_t width = d + extra;
    for (std::size_t k = 0; k < d; ++k) {
        double* const row = a + k * width;
        if (!(row[k] > 0)) return false;
        const double scale = 1 / std::sqrt(row[k]);
        for (std::size_t j = k; j < width; ++j) row[j] *= scale;
        for (std::size_t i = k + 1; i < d; ++i) {
            const double factor = row[i];
            if (factor == 0) continue;
            double* const below = a + i * width;
            for (std::size_t j = i; j < width; ++j) below[j] -= factor * row[j];
        }
    }
    return true;
}

// Solves U x = b in place, U upper triangular with row stride `width`.
RANKLOOP_CLONES inline void solve_upper(const double* u, std::size_t d, std::size_t width, double* b) {
    for (std::size_t i = d; i-- > 0;) {
        double sum = b[i];
        for (std::size_t j = i + 1; j < d; ++j) sum -= u[i * width + j] * b[j];
        b[i] = sum / u[i * width + i];
    }
}

// Solves U' Z = B in place, Z and B d x n; U upper triangular with row stride `width`.
RANKLOOP_CLONES inline void solve_lower_rows(const double* u, std::size_t d, std::size_t width, double* z, std::size_t n) {
    for (std::size_t k = 0; k < d; ++k) {
        double* const row = z + k * n;
        const double scale = 1 / u[k * width + k];
        for (std::size_t p = 0; p < n; ++p) row[p] *= scale;
        for (std::size_t i = k + 1; i < d; ++i) {
            const double factor = u[k * width + i];
            double* const below = z + i * n;
            for (std::size_t p = 0; p < n; ++p) below[p] -= factor * row[p];
        }
    }
}

// L += sum over rows of c_r y_r y_r', upper and lower; y is n x d in double.
RANKLOOP_CLONES inline void add_outer_products(const double* y, const double* c, std::size_t n, std::size_t d, double* l) {
    for (std::size_t r = 0; r < n; ++r) {
        if (c[r] == 0) continue;
        const double* const row = y + r * d;
        for (std::size_t i = 0; i < d; ++i) {
            const double factor = c[r] * row[i];
            double* const target = l + i * d;
            for (std::size_t j = 0; j < d; ++j) target[j] += factor * row[j];
        }
    }
}

// Z = A B, A n x m, B m x d, all double.
RANKLOOP_CLONES inline void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t d, double* z) {
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = z + i * d;
        std::fill_n(row, d, 0.0);
        for (std::size_t k = 0; k < m; ++k) {
            const double factor = a[i * m + k];
            if (factor == 0) continue;
            const double* const other = b + k * d;
            for (std::size_t j = 0; j < d; ++j) row[j] += factor * other[j];
        }
    }
}

// L += A' B, A and B n x d.
RANKLOOP_CLONES inline void add_product(const double* a, const double* b, std::size_t n, std::size_t d, double* l) {
    for (std::size_t k = 0; k < n; ++k) {
        const double *x = a + k * d, *y = b + k * d;
        for (std::size_t i = 0; i < d; ++i) {
            const double factor = x[i];
            if (factor == 0) continue;
            double* const target = l + i * d;
            for (std::size_t j = 0; j < d; ++j) target[j] += factor * y[j];
        }
    }
}

}  // namespace rankloop
