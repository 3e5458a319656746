// Second-order online XE_NDCG: a Gaussian posterior N(w, L^-1) over the weights. A query's loss is
// c times the softmax cross entropy on gains; Newton steps find the new mean, and the loss's
// curvature there joins the precision L.
#pragma once

#include "linalg/dense.hpp"
#include "online/softmax.hpp"

namespace rankloop {

class NewtonStep {
public:
    NewtonStep(Targets targets, double gamma, double power, int steps, double* precision)
        : targets_(targets), gamma_(gamma), power_(power), steps_(steps), L_(precision) {}

    bool operator()(const float* x, const double* y, std::size_t m, const float*, LinearState& state) {
        if (!target_distribution(targets_, gamma_, y, m, target_)) return false;
        const std::size_t d = state.d;
        double gains = 0;
        for (std::size_t i = 0; i < m; ++i) gains += y[i] > 0 ? std::exp2(y[i]) - 1 : 0;
        const double c = std::pow(gains, power_);
        rows_.assign(x, x + m * d), prior_.assign(state.w, state.w + d);
        for (int step = 0; step < steps_; ++step) {
            curvature(y, m, d, c, state.w);
            newton_step(y, m, d, c, state.w);
        }
        curvature(y, m, d, c, state.w);
        for (std::size_t i = 0; i < d; ++i) std::copy_n(hessian_.data() + i * d, d, L_ + i * d);
        return true;
    }

private:
    Targets targets_;
    double gamma_, power_;
    int steps_;
    double* L_;
    std::vector<double> target_, rho_, rows_, centred_, hessian_, work_, prior_, mean_, slope_, trial_, trial_scores_;
    std::vector<float> scores_;

    // hessian_ = L + c sum_i rho_i (x_i - mean)(x_i - mean)', at w.
    void curvature(const double* y, std::size_t m, std::size_t d, double c, const double* w) {
        scores_.resize(m), mean_.assign(d, 0.0), centred_.resize(m * d);
        for (std::size_t i = 0; i < m; ++i) {
            double s = 0;
            for (std::size_t j = 0; j < d; ++j) s += rows_[i * d + j] * w[j];
            scores_[i] = static_cast<float>(s);
        }
        softmax(y, scores_.data(), m, rho_);
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < d; ++j) mean_[j] += rho_[i] * rows_[i * d + j];
        }
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < d; ++j) centred_[i * d + j] = rows_[i * d + j] - mean_[j];
        }
        hessian_.assign(L_, L_ + d * d);
        work_.resize(m);
        for (std::size_t i = 0; i < m; ++i) work_[i] = c * rho_[i];
        add_outer_products(centred_.data(), work_.data(), m, d, hessian_.data());
    }

    // 1/2 (v - prior)' L (v - prior) + c times the cross entropy at v
    double objective(const double* y, std::size_t m, std::size_t d, double c, const double* v) {
        double held = 0, top = -std::numeric_limits<double>::infinity(), sum = 0, fit = 0;
        for (std::size_t i = 0; i < d; ++i) {
            double slope = 0;
            for (std::size_t j = 0; j < d; ++j) slope += L_[i * d + j] * (v[j] - prior_[j]);
            held += 0.5 * slope * (v[i] - prior_[i]);
        }
        trial_scores_.resize(m);
        for (std::size_t p = 0; p < m; ++p) {
            double s = 0;
            for (std::size_t j = 0; j < d; ++j) s += rows_[p * d + j] * v[j];
            trial_scores_[p] = s;
            if (y[p] >= 0) top = std::max(top, s);
        }
        for (std::size_t p = 0; p < m; ++p) {
            if (y[p] >= 0) sum += std::exp(trial_scores_[p] - top), fit -= target_[p] * (trial_scores_[p] - top);
        }
        return held + c * (fit + std::log(sum));
    }

    // w -= t hessian^-1 (L (w - prior) + c X'(rho - target)), t halved until the objective falls.
    void newton_step(const double* y, std::size_t m, std::size_t d, double c, double* w) {
        work_.resize(d * (d + 1));
        for (std::size_t i = 0; i < d; ++i) {
            double slope = 0;
            for (std::size_t j = 0; j < d; ++j) slope += L_[i * d + j] * (w[j] - prior_[j]);
            std::copy_n(hessian_.data() + i * d, d, work_.data() + i * (d + 1));
            work_[i * (d + 1) + d] = slope;
        }
        for (std::size_t p = 0; p < m; ++p) {
            const double pull = c * (rho_[p] - target_[p]);
            for (std::size_t i = 0; i < d; ++i) work_[i * (d + 1) + d] += pull * rows_[p * d + i];
        }
        slope_.resize(d);
        for (std::size_t i = 0; i < d; ++i) slope_[i] = work_[i * (d + 1) + d];
        if (!cholesky_augmented(work_.data(), d, 1)) throw std::runtime_error("the precision matrix is not positive definite");
        mean_.resize(d);
        for (std::size_t i = 0; i < d; ++i) mean_[i] = work_[i * (d + 1) + d];
        solve_upper(work_.data(), d, d + 1, mean_.data());
        double fall = 0;
        for (std::size_t i = 0; i < d; ++i) fall += slope_[i] * mean_[i];
        const double now = objective(y, m, d, c, w);
        trial_.resize(d);
        double t = 1;
        for (int halvings = 0; halvings < 30; ++halvings, t /= 2) {
            for (std::size_t i = 0; i < d; ++i) trial_[i] = w[i] - t * mean_[i];
            if (objective(y, m, d, c, trial_.data()) <= now - 1e-4 * t * fall) break;
        }
        if (fall > 0) std::copy(trial_.begin(), trial_.end(), w);
    }
};

}  // namespace rankloop
