// One gradient step on a softmax cross entropy: ListNet and XE_NDCG.
#pragma once

#include <cmath>

#include "online/slam.hpp"

namespace rankloop {

enum class Targets { grades, gains };  // softmax of the grades (ListNet); 2^y - gamma (XE_NDCG)

// Fills `target` with the distribution over judged documents; false where there is nothing to learn.
inline bool target_distribution(Targets kind, double gamma, const double* y, std::size_t m, std::vector<double>& target) {
    double top = -1, low = std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < m; ++i) {
        if (y[i] >= 0) top = std::max(top, y[i]), low = std::min(low, y[i]);
    }
    if (!(low < top)) return false;  // one grade, or none
    target.assign(m, 0.0);
    for (std::size_t i = 0; i < m; ++i) {
        if (y[i] < 0) continue;
        // scaled by the largest, so that no grade overflows
        target[i] = kind == Targets::grades ? std::exp(y[i] - top) : std::exp2(y[i] - top) - gamma * std::exp2(-top);
        sum += target[i];
    }
    for (double& t : target) t /= sum;
    return sum > 0;
}

// softmax of the scores over judged documents
inline void softmax(const double* y, const float* s, std::size_t m, std::vector<double>& rho) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < m; ++i) {
        if (y[i] >= 0) top = std::max<double>(top, s[i]);
    }
    rho.assign(m, 0.0);
    for (std::size_t i = 0; i < m; ++i) {
        if (y[i] >= 0) sum += rho[i] = std::exp(s[i] - top);
    }
    for (double& r : rho) r /= sum;
}

class SoftmaxStep {
public:
    SoftmaxStep(Targets targets, double gamma, Rate rate) : targets_(targets), gamma_(gamma), rate_(rate) {}

    bool operator()(const float* x, const double* y, std::size_t m, const float* s, LinearState& state) {
        if (!target_distribution(targets_, gamma_, y, m, target_)) return false;
        softmax(y, s, m, rho_);
        const double eta = rate_.at(state.queries);
        for (std::size_t i = 0; i < m; ++i) rho_[i] = eta * (target_[i] - rho_[i]);
        add_rows(x, m, state.d, rho_.data(), state.w);
        return true;
    }

private:
    Targets targets_;
    double gamma_;
    Rate rate_;
    std::vector<double> target_, rho_;
};

}  // namespace rankloop
