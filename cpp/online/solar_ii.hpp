// SOLAR-II on one query. Updating only where the loss is positive makes it recursive least squares
// with target 1, so the inverse covariance L = S^-1 and h = L w are sums over violated pairs:
// L += delta delta' / gamma, h += delta / gamma. Inside a query we work with P = X S X'.
#pragma once

#include "linalg/dense.hpp"
#include "online/pairs.hpp"

namespace rankloop {

struct GaussianState {
    double* precision;  // L, d x d
    double* h;          // L w
    double* w;          // solved from them
    std::size_t d;
};

constexpr std::size_t pairs_a_block = 24;

// v = P_p - P_q - sum_k Y_k (Y_kp - Y_kq), from r = first on: P e for e = e_p - e_q, with what the
// block has taken away from P so far.
RANKLOOP_CLONES inline void pair_direction(const float* P, std::size_t stride, const float* y, std::size_t taken, std::size_t n,
                                           std::size_t first, std::size_t p, std::size_t q, float* v) {
    const float *a = P + p * stride, *b = P + q * stride;
    for (std::size_t r = first; r < n; ++r) v[r] = a[r] - b[r];
    for (std::size_t k = 0; k < taken; ++k) {
        const float* const yk = y + k * n;
        const float c = yk[p] - yk[q];
        for (std::size_t r = first; r < n; ++r) v[r] -= c * yk[r];
    }
}

// P -= Y'Y for rows and columns from `first` on.
RANKLOOP_CLONES inline void take_block(float* P, std::size_t stride, const float* y, std::size_t taken, std::size_t n, std::size_t first) {
    constexpr std::size_t C = 32;
    for (std::size_t i = first; i < n; ++i) {
        float* const row = P + i * stride;
        std::size_t j = first;
        for (; j + C <= n; j += C) {
            float sums[C];
            for (std::size_t b = 0; b < C; ++b) sums[b] = row[j + b];
            for (std::size_t k = 0; k < taken; ++k) {
                const float c = y[k * n + i];
                const float* const yk = y + k * n + j;
                for (std::size_t b = 0; b < C; ++b) sums[b] -= c * yk[b];
            }
            for (std::size_t b = 0; b < C; ++b) row[j + b] = sums[b];
        }
        for (; j < n; ++j) {
            float sum = row[j];
            for (std::size_t k = 0; k < taken; ++k) sum -= y[k * n + i] * y[k * n + j];
            row[j] = sum;
        }
    }
}

RANKLOOP_CLONES inline void move_scores(float* s, const float* v, float by, std::size_t first, std::size_t n) {
    for (std::size_t r = first; r < n; ++r) s[r] += by * v[r];
}

// One pair with the covariance S at hand: moved = S delta, w += (1 - margin)/beta moved, S -= moved
// moved'/beta, beta = delta.moved + gamma. False where the margin is kept.
RANKLOOP_CLONES inline bool learn_pair(const float* a, const float* b, std::size_t d, double gamma, double* delta, double* moved,
                                       double* w, double* S) {
    double margin = 0, beta = gamma;
    for (std::size_t j = 0; j < d; ++j) {
        delta[j] = static_cast<double>(a[j]) - b[j];
        margin += w[j] * delta[j];
        moved[j] = 0;
    }
    if (!(margin < 1)) return false;
    for (std::size_t i = 0; i < d; ++i) {
        const double by = delta[i];
        const double* const row = S + i * d;
        for (std::size_t j = 0; j < d; ++j) moved[j] += by * row[j];
    }
    for (std::size_t j = 0; j < d; ++j) beta += delta[j] * moved[j];
    for (std::size_t i = 0; i < d; ++i) {
        const double by = moved[i] / beta;
        double* const row = S + i * d;
        w[i] += (1 - margin) * by;
        for (std::size_t j = 0; j < d; ++j) row[j] -= by * moved[j];
    }
    return true;
}

class SolarIIStep {
public:
    SolarIIStep(double gamma, GaussianState state) : gamma_(gamma), g_(state) { solve_weights(); }

    bool operator()(const float* x, const double* y, std::size_t m, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        if (!query_.gather(x, y, m, d, s)) return false;
        const bool any = 5 * query_.n <= 8 * d ? in_documents(d) : in_features(d);
        if (any) solve_weights();
        return any;
    }

private:
    double gamma_;
    GaussianState g_;
    OrderedQuery query_;
    std::vector<double> factor_, work_, laplacian_, pull_, rows_, product_, covariance_, weights_, moved_, delta_;
    std::vector<float> y_, v_;
    Lines z_, P_;

    void record(std::size_t p, std::size_t q) {
        const std::size_t n = query_.n;
        ++laplacian_[p * n + p], ++laplacian_[q * n + q];
        --laplacian_[p * n + q], --laplacian_[q * n + p];
        ++pull_[p], --pull_[q];
    }

    // Z = U'^-1 X', so that P = Z'Z = X S X'; row i of Z holds feature i of all documents.
    void whiten(std::size_t d) {
        const std::size_t n = query_.n;
        work_.resize(d * n);
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t p = 0; p < n; ++p) work_[i * n + p] = query_.x[p * d + i];
        }
        solve_lower_rows(factor_.data(), d, d + 1, work_.data(), n);
    }

    bool in_documents(std::size_t d) {
        const std::size_t n = query_.n;
        laplacian_.assign(n * n, 0.0), pull_.assign(n, 0.0);
        whiten(d);
        const std::size_t stride = column_stride(n);
        z_.assign(d * stride, 0.0f), P_.resize(stride * stride), y_.resize(pairs_a_block * n), v_.resize(n);
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t p = 0; p < n; ++p) z_[i * stride + p] = static_cast<float>(work_[i * n + p]);
        }
        gram(z_.data(), n, d, stride, P_.data());
        float* const s = query_.scores.data();
        std::size_t taken = 0;
        bool any = false;
        query_.each_pair([&](std::size_t p, std::size_t q) {
            const float margin = s[p] - s[q];
            if (!(margin < 1)) return;
            any = true;
            pair_direction(P_.data(), stride, y_.data(), taken, n, p, p, q, v_.data());
            const float beta = v_[p] - v_[q] + static_cast<float>(gamma_);
            move_scores(s, v_.data(), (1 - margin) / beta, p, n);
            const float scale = 1 / std::sqrt(beta);
            for (std::size_t r = p; r < n; ++r) y_[taken * n + r] = v_[r] * scale;
            record(p, q);
            if (++taken == pairs_a_block) {
                take_block(P_.data(), stride, y_.data(), taken, n, p);
                taken = 0;
            }
        });
        if (any) add_information(d);
        return any;
    }

    // Very long lists: the covariance itself, pair after pair, O(d^2) each.
    bool in_features(std::size_t d) {
        const std::size_t n = query_.n;
        laplacian_.assign(n * n, 0.0), pull_.assign(n, 0.0);
        invert(d);
        weights_.assign(g_.w, g_.w + d), moved_.resize(d), delta_.resize(d);
        bool any = false;
        query_.each_pair([&](std::size_t p, std::size_t q) {
            if (!learn_pair(query_.x.data() + p * d, query_.x.data() + q * d, d, gamma_, delta_.data(), moved_.data(), weights_.data(), covariance_.data())) return;
            record(p, q);
            any = true;
        });
        if (any) add_information(d);
        return any;
    }

    void invert(std::size_t d) {  // S = U^-1 U'^-1
        covariance_.assign(d * d, 0.0);
        for (std::size_t i = 0; i < d; ++i) covariance_[i * d + i] = 1;
        solve_lower_rows(factor_.data(), d, d + 1, covariance_.data(), d);
        std::vector<double> column(d);
        for (std::size_t c = 0; c < d; ++c) {
            for (std::size_t i = 0; i < d; ++i) column[i] = covariance_[i * d + c];
            solve_upper(factor_.data(), d, d + 1, column.data());
            for (std::size_t i = 0; i < d; ++i) covariance_[i * d + c] = column[i];
        }
    }

    // L += X' A X / gamma, h += X' b / gamma, with A the Laplacian of the violated pairs.
    void add_information(std::size_t d) {
        const std::size_t n = query_.n;
        rows_.assign(query_.x.begin(), query_.x.end());
        product_.resize(n * d);
        for (double& a : laplacian_) a /= gamma_;
        multiply(laplacian_.data(), rows_.data(), n, n, d, product_.data());
        add_product(rows_.data(), product_.data(), n, d, g_.precision);
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t j = 0; j < d; ++j) g_.h[j] += pull_[p] / gamma_ * rows_[p * d + j];
        }
    }

    // [L | h] -> [U | g] with U'U = L; then U w = g. The next query starts from U.
    void solve_weights() {
        const std::size_t d = g_.d;
        factor_.resize(d * (d + 1));
        for (std::size_t i = 0; i < d; ++i) {
            std::copy_n(g_.precision + i * d, d, factor_.data() + i * (d + 1));
            factor_[i * (d + 1) + d] = g_.h[i];
        }
        if (!cholesky_augmented(factor_.data(), d, 1)) throw std::runtime_error("the precision matrix is not positive definite");
        for (std::size_t i = 0; i < d; ++i) g_.w[i] = factor_[i * (d + 1) + d];
        solve_upper(factor_.data(), d, d + 1, g_.w);
    }
};

// Diagonal covariance: O(d) a pair, no matrix.
class DiagonalSolarStep {
public:
    DiagonalSolarStep(double gamma, double* variance) : gamma_(gamma), variance_(variance) {}

    bool operator()(const float* x, const double* y, std::size_t m, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        if (!query_.gather(x, y, m, d, s)) return false;
        bool any = false;
        query_.each_pair([&](std::size_t p, std::size_t q) {
            any |= learn_pair(query_.x.data() + p * d, query_.x.data() + q * d, d, state.w);
        });
        return any;
    }

private:
    double gamma_;
    double* variance_;
    OrderedQuery query_;

    bool learn_pair(const float* a, const float* b, std::size_t d, double* w) {
        double margin = 0, beta = gamma_;
        for (std::size_t j = 0; j < d; ++j) {
            const double delta = static_cast<double>(a[j]) - b[j];
            margin += w[j] * delta;
            beta += variance_[j] * delta * delta;
        }
        if (!(margin < 1)) return false;
        for (std::size_t j = 0; j < d; ++j) {
            const double moved = variance_[j] * (static_cast<double>(a[j]) - b[j]);
            w[j] += (1 - margin) / beta * moved;
            variance_[j] -= moved * moved / beta;
        }
        return true;
    }
};

}  // namespace rankloop
