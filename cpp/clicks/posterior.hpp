// The Gaussian posterior of weights, N(w, (U'U)^-1): drawing weights from it, and pulling it towards 0.
#pragma once

#include "clicks/directions.hpp"
#include "linalg/triangular.hpp"

namespace rankloop {

// out = w + spread U^-1 z, z from uniform draws, d and one more where d is odd. O(d^2)
inline void draw_weights(const double* w, const double* root, std::size_t d, const double* uniform, double spread,
                         double* out) {
    normal_numbers(uniform, d, out);
    solve_upper(root, d, out);
    for (std::size_t j = 0; j < d; ++j) out[j] = w[j] + spread * out[j];
}

// Adds an observation that the weights are 0, with the precision `more` in all directions: U'U += more I. The data's
// part U'U w stays as it is, so the new mean solves the new system for it. O(d^3)
inline void pull_to_zero(double* w, double* root, std::size_t d, double more) {
    Products<double> products;
    std::vector<double> told(d), rows(d * d, 0.0);
    multiply_upper(root, d, w, told.data());
    std::fill(w, w + d, 0.0);
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = i; j < d; ++j) w[j] += root[i * d + j] * told[i];
        rows[i * d + i] = std::sqrt(more);
    }
    RowAppender(products).append(root, d, rows.data(), d);
    solve_lower(root, d, w), solve_upper(root, d, w);
}

}  // namespace rankloop
