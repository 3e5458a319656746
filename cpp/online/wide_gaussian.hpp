// A Gaussian over many weights: the precision is a diagonal and a few directions, L = D + V'V (V is r x d; r may be 0).
//
// A full precision of ten thousand features would take 800 MB. This one takes (r + 1) d numbers, and a query costs
// O((r + n) d) for each direction. When a query adds A'A, the r largest directions of V'V + A'A become the new V, and
// the diagonal of the rest joins D. So the diagonal of the precision is exact, and only the weaker correlations are
// forgotten.
#pragma once

#include "online/gaussian.hpp"

namespace rankloop {

class WideGaussian final : public Gaussian {
public:
    // `variances` are 1 / D; both are changed in place.
    WideGaussian(double* variances, double* directions, std::size_t r, double* w, std::size_t d)
        : Gaussian(w, d),
          variances_(variances),
          v_(directions),
          r_(r) {}

    void append(double* a, std::size_t n) override {
        rest_.assign(d_, 0.0);
        add_squares(a, n, 1);
        if (r_) {
            add_squares(v_, r_, 1);
            choose_directions(a, n);
            add_squares(v_, r_, -1);
        }
        for (std::size_t j = 0; j < d_; ++j) {
            if (rest_[j] > 0) variances_[j] = 1 / (1 / variances_[j] + rest_[j]);
        }
    }

    bool is_sound() const override {
        for (std::size_t j = 0; j < d_; ++j) {
            if (!(variances_[j] > 0)) return false;
        }
        return all_finite(variances_, d_) && all_finite(v_, r_ * d_);
    }

private:
    double *variances_, *v_;
    std::size_t r_;
    std::vector<double> roots_, scaled_, K_, products_of_, moved_, rest_, stack_, G_, W_, GW_;

    // rest += sign * the sums of squares of columns
    void add_squares(const double* a, std::size_t n, double sign) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < d_; ++j) rest_[j] += sign * (a[i * d_ + j] * a[i * d_ + j]);
        }
    }

    // With B = V D^-1/2 and C C' = I + B B', the root is T = D^-1/2 (I - B'K B), K = C'^-1 (C + I)^-1: then
    // (I - B'K B)(I - B'K B)' = I - B'(C C')^-1 B, which is (I + B'B)^-1.
    void prepare() {
        roots_.resize(d_), scaled_.resize(r_ * d_);
        for (std::size_t j = 0; j < d_; ++j) roots_[j] = std::sqrt(variances_[j]);
        for (std::size_t k = 0; k < r_; ++k) {
            for (std::size_t j = 0; j < d_; ++j) scaled_[k * d_ + j] = v_[k * d_ + j] * roots_[j];
        }
        if (!r_) return;
        std::vector<double> C(r_ * r_, 0.0);
        const View<const double> b{scaled_.data(), d_};
        products_.add(b, b.transposed(), r_, r_, d_, {C.data(), r_});
        // Cholesky: C becomes lower triangular. No pivot of I + B B' is below 1, except by rounding.
        for (std::size_t i = 0; i < r_; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = C[i * r_ + j] + (i == j ? 1 : 0);
                for (std::size_t k = 0; k < j; ++k) sum -= C[i * r_ + k] * C[j * r_ + k];
                C[i * r_ + j] = i == j ? std::sqrt(std::max(sum, 1.0)) : sum / C[j * r_ + j];
            }
        }
        K_.assign(r_ * r_, 0.0);
        for (std::size_t c = 0; c < r_; ++c) {  // column by column: (C + I) x = e_c, then C'x = x
            std::vector<double> x(r_, 0.0);
            x[c] = 1;
            for (std::size_t i = 0; i < r_; ++i) {
                for (std::size_t k = 0; k < i; ++k) x[i] -= C[i * r_ + k] * x[k];
                x[i] /= C[i * r_ + i] + 1;
            }
            for (std::size_t i = r_; i-- > 0;) {
                for (std::size_t k = i + 1; k < r_; ++k) x[i] -= C[k * r_ + i] * x[k];
                x[i] /= C[i * r_ + i];
                K_[i * r_ + c] = x[i];
            }
        }
    }

    void times_root(double* rows, std::size_t n) override {
        prepare();
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < d_; ++j) rows[i * d_ + j] *= roots_[j];
        }
        if (!r_) return;
        products_of_.assign(n * r_, 0.0), moved_.assign(n * r_, 0.0);
        const View<const double> b{scaled_.data(), d_};
        products_.add({rows, d_}, b.transposed(), n, r_, d_, {products_of_.data(), r_});
        products_.add({products_of_.data(), r_}, {K_.data(), r_}, n, r_, r_, {moved_.data(), r_});
        products_.subtract({moved_.data(), r_}, b, n, d_, r_, {rows, d_});
    }

    void root_times(double* v) override {
        products_of_.assign(r_, 0.0);
        for (std::size_t k = 0; k < r_; ++k) {
            for (std::size_t j = 0; j < d_; ++j) products_of_[k] += scaled_[k * d_ + j] * v[j];
        }
        for (std::size_t i = 0; i < r_; ++i) {
            double by = 0;
            for (std::size_t k = 0; k < r_; ++k) by += K_[i * r_ + k] * products_of_[k];
            for (std::size_t j = 0; j < d_; ++j) v[j] -= by * scaled_[i * d_ + j];
        }
        for (std::size_t j = 0; j < d_; ++j) v[j] *= roots_[j];
    }

    // V = W'[V; A], where the r orthonormal columns of W are near the r largest directions of [V; A] D^-1/2. They are
    // found by subspace iteration: a few rounds of W = G W, made orthonormal again, with G the products of all rows. It
    // starts from fixed signs that look random, so that every machine takes the same steps.
    void choose_directions(const double* a, std::size_t n) {
        constexpr int rounds = 8;
        const std::size_t k = r_ + n;
        stack_.resize(k * d_);
        std::copy_n(v_, r_ * d_, stack_.data());
        std::copy_n(a, n * d_, stack_.data() + r_ * d_);
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j < d_; ++j) stack_[i * d_ + j] *= roots_[j];
        }
        const View<const double> stack{stack_.data(), d_};
        G_.assign(k * k, 0.0);
        products_.add(stack, stack.transposed(), k, k, d_, {G_.data(), k});
        W_.resize(r_ * k);  // transposed: a direction a row
        for (std::size_t i = 0; i < r_ * k; ++i) W_[i] = sign_of(i);
        for (int round = 0; round < rounds; ++round) {
            GW_.assign(r_ * k, 0.0);
            products_.add({W_.data(), k}, {G_.data(), k}, r_, k, k, {GW_.data(), k});
            W_.swap(GW_);
            orthogonalise(k);
        }
        stack_.assign(r_ * d_, 0.0);
        products_.add({W_.data(), k}, {v_, d_}, r_, d_, r_, {stack_.data(), d_});
        products_.add({W_.data() + r_, k}, {a, d_}, r_, d_, n, {stack_.data(), d_});
        std::copy(stack_.begin(), stack_.end(), v_);
    }

    // 1 or -1: a bit of the i-th number of SplitMix64.
    static double sign_of(std::uint64_t i) {
        std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return (x ^ x >> 31) & 1 ? 1 : -1;
    }

    // Makes the rows of W orthonormal, by Gram and Schmidt. Each row is made orthogonal to those before it twice,
    // because rounding leaves a remainder after the first time; a row that is only rounding becomes 0.
    void orthogonalise(std::size_t k) {
        const auto dot_of = [&](const double* x, const double* y) {
            double sum = 0;
            for (std::size_t i = 0; i < k; ++i) sum += x[i] * y[i];
            return sum;
        };
        for (std::size_t i = 0; i < r_; ++i) {
            double* const row = W_.data() + i * k;
            const double before = std::sqrt(dot_of(row, row));
            for (int again = 0; again < 2; ++again) {
                for (std::size_t other = 0; other < i; ++other) {
                    const double* const from = W_.data() + other * k;
                    const double along = dot_of(row, from);
                    for (std::size_t c = 0; c < k; ++c) row[c] -= along * from[c];
                }
            }
            const double length = std::sqrt(dot_of(row, row)), scale = length > 1e-10 * before ? 1 / length : 0;
            for (std::size_t c = 0; c < k; ++c) row[c] *= scale;
        }
    }
};

}  // namespace rankloop
