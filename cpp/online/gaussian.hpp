// A Gaussian over weights, N(w, (U'U)^-1), as the second-order learners keep it: the mean, and the upper
// triangular root U of the precision. New knowledge enters by orthogonal reflections or by a factor above the
// identity, so no stream makes the precision indefinite.
#pragma once

#include "linalg/triangular.hpp"
#include "online/influence.hpp"
#include "online/loop.hpp"

namespace rankloop {

// No query makes a direction more certain by more than this factor (of the precision): what is known of the
// others stays right to about 1e-8.
constexpr double most_certain = 1e8;

class Gaussian {
public:
    Gaussian(double* root, double* w, std::size_t d) : u_(root), w_(w), d_(d), appender_(products_) {}

    std::size_t size() const { return d_; }
    Products<double>& products() { return products_; }

    // The judged documents of a query (rows, n x d) less the first of them, and z = (rows) U^-1, whose products
    // are those of the covariance: z_i . z_j = x_i S x_j.
    void whiten(const float* x, const std::uint32_t* documents, std::size_t n) {
        rows.resize(n * d_);
        const float* const origin = x + documents[0] * d_;
        for (std::size_t p = 0; p < n; ++p) {
            const float* const row = x + documents[p] * d_;
            for (std::size_t j = 0; j < d_; ++j) rows[p * d_ + j] = static_cast<double>(row[j]) - origin[j];
        }
        z = rows;
        solve_right(u_, d_, z.data(), n, products_);
    }

    // The largest |z_i|^2.
    double reach(std::size_t n) const {
        double most = 0;
        for (std::size_t p = 0; p < n; ++p) {
            double sum = 0;
            for (std::size_t j = 0; j < d_; ++j) sum += z[p * d_ + j] * z[p * d_ + j];
            most = std::max(most, sum);
        }
        return most;
    }

    // Brings the query nearer to its first document.
    void shrink(std::size_t n, double by) {
        for (std::size_t i = 0; i < n * d_; ++i) rows[i] *= by, z[i] *= by;
    }

    // out = rows . w
    void score(std::size_t n, double* out) const {
        for (std::size_t p = 0; p < n; ++p) {
            double sum = 0;
            for (std::size_t j = 0; j < d_; ++j) sum += rows[p * d_ + j] * w_[j];
            out[p] = sum;
        }
    }

    // w += S rows' a
    void move_by_documents(std::size_t n, const double* a) {
        move_.assign(d_, 0.0);
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t j = 0; j < d_; ++j) move_[j] += a[p] * z[p * d_ + j];
        }
        move_by(move_.data());
    }

    // w += U^-1 v, which is used up
    void move_by(double* v) {
        solve_upper(u_, d_, v);
        for (std::size_t j = 0; j < d_; ++j) w_[j] += v[j];
    }

    // U'U += A'A; A is used up
    void append(double* a, std::size_t n) { appender_.append(u_, d_, a, n); }

    // U = C U: the precision becomes U'(C'C)U
    void multiply(const double* c) { multiply_factors(c, u_, d_, scratch_, products_); }

    // Whether the root can be used: a query that made it infinite is refused.
    bool is_sound() const {
        for (std::size_t j = 0; j < d_; ++j) {
            if (!(u_[j * d_ + j] > 0)) return false;
        }
        return all_finite(u_, d_ * d_);
    }

    std::vector<double> rows, z;

private:
    double *u_, *w_;
    std::size_t d_;
    Products<double> products_;
    RowAppender appender_;
    std::vector<double> move_, scratch_;
};

}  // namespace rankloop
