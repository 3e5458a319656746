// Second-order online XE_NDCG: a Gaussian posterior over the weights. A query's loss is c times the softmax
// cross entropy on gains; Newton steps find the new mean, and the loss's curvature there joins the precision.
//
// In coordinates where the precision is the identity, weights are w + U^-1 v and scores s + Z v, and the mean is
// the minimum of |v|^2 / 2 + c loss(s + Z v). For short lists v = Z' a, with one number a document, and all is
// done with P = Z Z'; for long lists in v itself.
#pragma once

#include "online/gaussian.hpp"
#include "online/levels.hpp"
#include "online/softmax.hpp"

namespace rankloop {

// sum += x_i times row i, in the order of rows
RANKLOOP_CLONES inline void add_rows_times(const double* rows, std::size_t n, std::size_t d, const double* x,
                                           double* sum) {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) sum[j] += x[i] * rows[i * d + j];
    }
}

// out_i = scale_i (row_i - middle)
RANKLOOP_CLONES inline void scale_from(const double* rows, std::size_t n, std::size_t d, const double* scales,
                                       const double* middle, double* out) {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) out[i * d + j] = scales[i] * (rows[i * d + j] - middle[j]);
    }
}

// M = I + c root_i root_j (P_ij - u_i - u_j + middle), on and above the diagonal
RANKLOOP_CLONES inline void fill_inner(const double* P, const double* roots, const double* u, std::size_t n, double c,
                                       double middle, double* M) {
    for (std::size_t i = 0; i < n; ++i) {
        const double root = c * roots[i];
        for (std::size_t j = i; j < n; ++j) M[i * n + j] = root * roots[j] * (P[i * n + j] - u[i] - u[j] + middle);
        M[i * n + i] = 1 + std::max(M[i * n + i], 0.0);
    }
}

class NewtonStep {
public:
    NewtonStep(Targets targets, double gamma, double power, std::int64_t steps, Gaussian& gaussian, Influence weight,
               Influence reach)
        : targets_(targets),
          gamma_(gamma),
          power_(power),
          steps_(steps),
          g_(gaussian),
          weight_(weight),
          reach_(reach) {}

    template <typename Rows>
    bool operator()(const QueryOf<Rows>& rows, const float*, LinearState& here) {
        if (!target_distribution(targets_, gamma_, rows, target_)) return false;
        gather(rows);
        // A query that weighs far more than those before it, or whose documents lie far outside of what was seen,
        // counts only for a share. Otherwise one outlier would fix the weights for ever: a precision never falls.
        c_ = weight_.share(c_) * c_;
        g_.whiten(rows.x, documents_.data(), n_);
        const double reach = g_.reach(n_);
        double share = reach_.share(reach);
        if (c_ * share * reach > max_certainty) share = max_certainty / (c_ * reach);
        if (share < 1) g_.shrink(n_, std::sqrt(share));
        start_.resize(n_), g_.score(n_, start_.data());
        s_ = start_;
        // The same minimum, in the smaller of two spaces. In documents, P costs n^2 d once and each step n^3 / 3; in
        // features, each step costs n d^2 + d^3 / 3.
        if (n_ <= g_.size())
            in_documents();
        else
            in_features();
        if (!g_.is_sound()) throw std::runtime_error("its curvature is not finite");
        g_.leave(here);
        return true;
    }

private:
    Targets targets_;
    double gamma_, power_;
    std::int64_t steps_;
    Gaussian& g_;
    Influence weight_, reach_;
    std::size_t n_ = 0;  // judged documents
    double c_ = 0;       // the weight of the query
    std::vector<std::uint32_t> documents_;
    std::vector<double> target_, weights_, rho_, roots_, start_, s_, trial_, P_, M_, a_, Pa_, right_, inner_, step_,
        Pstep_, v_, H_, rows_;

    // Keeps the judged documents, in the order of rows, with their targets; those that nobody judged do not compete.
    // The query's weight is (sum of gains)^power: a query with several good documents says more than one with a few.
    template <typename Rows>
    void gather(const QueryOf<Rows>& rows) {
        documents_.clear(), weights_.clear();
        double gains = 0;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] < 0) continue;
            if (rows.y[i] > 0) gains += rows.weight_of(i) * (math::exp2(rows.y[i]) - 1);
            target_[documents_.size()] = target_[i];
            weights_.push_back(rows.weight_of(i));
            documents_.push_back(static_cast<std::uint32_t>(i));
        }
        n_ = documents_.size();
        c_ = rows.weight * math::pow(gains, power_);
    }

    // Fills rho_ = softmax of the scores, and returns the cross entropy. The largest score is taken off first, so that
    // no exponential overflows, however large the scores are.
    double entropy(const std::vector<double>& s) {
        const double top = *std::max_element(s.begin(), s.end());
        double sum = 0, fit = 0;
        rho_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            sum += rho_[i] = weights_[i] * math::exp(s[i] - top);
            fit -= target_[i] * (s[i] - top);
        }
        for (double& r : rho_) r /= sum;
        return fit + math::log(sum);
    }

    void in_documents() {
        const View<const double> z{g_.z.data(), g_.size()};
        P_.assign(n_ * n_, 0.0), a_.assign(n_, 0.0), Pa_.assign(n_, 0.0);
        g_.products().add(z, z.transposed(), n_, n_, g_.size(), {P_.data(), n_}, Shape::upper);
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < i; ++j) P_[i * n_ + j] = P_[j * n_ + i];
        }
        double now = c_ * entropy(s_);
        for (std::int64_t step = 0; step < steps_ && document_step(now); ++step) {}
        g_.move_by_documents(n_, a_.data());
        centred(g_.rows.data(), g_.size());
        g_.append(rows_.data(), n_);
    }

    // One Newton step for a, where v = Z' a. With K = diag rho - rho rho' the curvature of the softmax, it solves
    //
    //     (I + c K P) step = r,    r = -(a + c (rho - t)).
    //
    // I + c K P is not symmetric, so that Cholesky cannot factor it. With K = G G' (G = diag sqrt(rho) less its mean),
    // Woodbury's identity gives step = r - c G M^-1 G'P r with M = I + c G'P G, which is symmetric and at least the
    // identity, so that its factors exist whatever the data are. The step is halved until the objective falls; false
    // where nothing is left to gain.
    bool document_step(double& now) {
        right_.resize(n_), inner_.resize(n_), step_.resize(n_), Pstep_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) right_[i] = -(a_[i] + c_ * (rho_[i] - target_[i]));
        fill_M();
        if (!cholesky(M_.data(), n_, g_.products())) throw std::runtime_error("its curvature is not finite");
        times_P(right_, inner_);
        const double mean = sum_of(rho_, inner_);
        for (std::size_t i = 0; i < n_; ++i) inner_[i] = std::sqrt(rho_[i]) * (inner_[i] - mean);
        solve_lower(M_.data(), n_, inner_.data());
        solve_upper(M_.data(), n_, inner_.data());
        double along = 0;
        for (std::size_t i = 0; i < n_; ++i) along += std::sqrt(rho_[i]) * inner_[i];
        for (std::size_t i = 0; i < n_; ++i)
            step_[i] = right_[i] - c_ * (std::sqrt(rho_[i]) * inner_[i] - rho_[i] * along);
        times_P(step_, Pstep_);
        const double fall = sum_of(right_, Pstep_), held = sum_of(a_, Pa_), cross = sum_of(a_, Pstep_),
                     own = sum_of(step_, Pstep_);
        return search(
            now, fall, Pstep_, [&](double h) { return 0.5 * (held + 2 * h * cross + h * h * own); },
            [&](double h) {
                for (std::size_t i = 0; i < n_; ++i) a_[i] += h * step_[i], Pa_[i] += h * Pstep_[i];
            });
    }

    // M = I + c sqrt(rho_i rho_j) (P_ij - u_i - u_j + rho'u) with u = P rho, on and above the diagonal: G'P G written
    // out, which costs n^2 where products with G would cost n^3.
    void fill_M() {
        std::vector<double>& u = inner_;
        times_P(rho_, u);
        const double middle = sum_of(rho_, u);
        M_.resize(n_ * n_), roots_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) roots_[i] = std::sqrt(rho_[i]);
        fill_inner(P_.data(), roots_.data(), u.data(), n_, c_, middle, M_.data());
    }

    void in_features() {
        const std::size_t d = g_.size();
        v_.assign(d, 0.0);
        double now = c_ * entropy(s_);
        for (std::int64_t step = 0; step < steps_; ++step) {
            fill_H(d);
            if (!feature_step(d, now)) break;
        }
        g_.move_by(v_.data());
        if (g_.multiplies()) {
            fill_H(d), g_.multiply(H_.data());
        } else {
            centred(g_.rows.data(), d), g_.append(rows_.data(), n_);
        }
    }

    // H = C'C = I + c Z'(diag rho - rho rho') Z, the curvature in features. Rows are centred first, and their products
    // taken then: subtracting (Z'rho)(Z'rho)' at the end instead would leave rounding where the difference is small,
    // and H might not be positive definite.
    void fill_H(std::size_t d) {
        H_.assign(d * d, 0.0);
        centred(g_.z.data(), d);
        const View<const double> rows{rows_.data(), d};
        g_.products().add(rows.transposed(), rows, d, d, n_, {H_.data(), d}, Shape::upper);
        for (std::size_t j = 0; j < d; ++j) H_[j * d + j] += 1;
        if (!cholesky(H_.data(), d, g_.products())) throw std::runtime_error("its curvature is not finite");
        for (std::size_t i = 0; i < d; ++i) std::fill_n(H_.data() + i * d, i, 0.0);
    }

    bool feature_step(std::size_t d, double& now) {
        right_.resize(d), step_.resize(d), Pstep_.assign(n_, 0.0);
        for (std::size_t j = 0; j < d; ++j) right_[j] = -v_[j];
        for (std::size_t p = 0; p < n_; ++p) {
            const double pull = c_ * (rho_[p] - target_[p]);
            for (std::size_t j = 0; j < d; ++j) right_[j] -= pull * g_.z[p * d + j];
        }
        step_ = right_;
        solve_lower(H_.data(), d, step_.data());
        solve_upper(H_.data(), d, step_.data());
        for (std::size_t p = 0; p < n_; ++p) {
            for (std::size_t j = 0; j < d; ++j) Pstep_[p] += g_.z[p * d + j] * step_[j];
        }
        double fall = 0, held = 0, cross = 0, own = 0;
        for (std::size_t j = 0; j < d; ++j)
            fall += right_[j] * step_[j], held += v_[j] * v_[j], cross += v_[j] * step_[j], own += step_[j] * step_[j];
        return search(
            now, fall, Pstep_, [&](double h) { return 0.5 * (held + 2 * h * cross + h * h * own); },
            [&](double h) {
                for (std::size_t j = 0; j < d; ++j) v_[j] += h * step_[j];
            });
    }

    // Takes a step, along which scores move by `slope` and the penalty is held(h): halved until the objective falls by
    // a ten-thousandth of what the slope promises (Armijo's rule). A full Newton step can overshoot where the softmax
    // is almost certain and its curvature is almost 0.
    template <typename Held, typename Take>
    bool search(double& now, double fall, const std::vector<double>& slope, const Held& held, const Take& take) {
        if (!(fall > 0)) return false;
        trial_.resize(n_);
        double h = 1, then = now;
        for (int halvings = 0; halvings < 30; ++halvings, h /= 2) {
            for (std::size_t i = 0; i < n_; ++i) trial_[i] = s_[i] + h * slope[i];
            then = held(h) + c_ * entropy(trial_);
            if (then <= now - 1e-4 * h * fall) {
                take(h), s_.swap(trial_), now = then;
                return true;
            }
        }
        entropy(s_);  // no step is better than this: rounding is all that is left
        return false;
    }

    // rows_ = sqrt(c rho_i) (row_i - sum_k rho_k row_k)
    void centred(const double* rows, std::size_t d) {
        rows_.resize(n_ * d), Pstep_.assign(d, 0.0), roots_.resize(n_);
        add_rows_times(rows, n_, d, rho_.data(), Pstep_.data());
        for (std::size_t p = 0; p < n_; ++p) roots_[p] = std::sqrt(c_ * rho_[p]);
        scale_from(rows, n_, d, roots_.data(), Pstep_.data(), rows_.data());
    }

    void times_P(const std::vector<double>& x, std::vector<double>& out) const {
        std::fill_n(out.begin(), n_, 0.0);
        add_rows_times(P_.data(), n_, n_, x.data(), out.data());
    }

    static double sum_of(const std::vector<double>& x, const std::vector<double>& y) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
        return sum;
    }
};

}  // namespace rankloop
