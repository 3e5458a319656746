// Second-order online XE_NDCG: a Gaussian posterior N(w, L^-1) over the weights. A query's loss is
// c times the softmax cross entropy on gains; Newton steps find the new mean, and the loss's
// curvature there joins the precision L.
#pragma once

#include "dense.hpp"
#include "softmax.hpp"

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
            newton_step(m, d, c, state.w);
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
    std::vector<double> target_, rho_, rows_, centred_, hessian_, work_, prior_, mean_;
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

    // w -= hessian^-1 (L (w - prior) + c X'(rho - target))
    void newton_step(std::size_t m, std::size_t d, double c, double* w) {
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
        if (!cholesky_augmented(work_.data(), d, 1)) throw std::runtime_error("the precision matrix is not positive definite");
        mean_.resize(d);
        for (std::size_t i = 0; i < d; ++i) mean_[i] = work_[i * (d + 1) + d];
        solve_upper(work_.data(), d, d + 1, mean_.data());
        for (std::size_t i = 0; i < d; ++i) w[i] -= mean_[i];
    }
};

}  // namespace rankloop
