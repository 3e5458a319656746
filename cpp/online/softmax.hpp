// One gradient step on a softmax cross entropy: ListNet and XE_NDCG. A document of weight a stands for a
// copies of itself, in the target and in the softmax.
#pragma once

#include <limits>
#include <vector>

#include "losses/targets.hpp"
#include "online/loop.hpp"
#include "online/rate.hpp"

namespace rankloop {

// Fills `target` with the distribution over judged documents; false where there is nothing to learn. Where all
// have one grade it is uniform, and learnt only where `one_grade` says so.
template <typename Rows>
bool target_distribution(Targets kind, double gamma, const Rows& rows, std::vector<double>& target,
                         bool one_grade = false) {
    double top = -1, low = std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < rows.m; ++i) {
        if (rows.y[i] >= 0) top = std::max(top, rows.y[i]), low = std::min(low, rows.y[i]);
    }
    if (!(low < top) && !(one_grade && low == top)) return false;
    const TargetGain gain(kind, gamma, top);
    target.assign(rows.m, 0.0);
    for (std::size_t i = 0; i < rows.m; ++i) {
        if (rows.y[i] >= 0) sum += target[i] = rows.weight_of(i) * gain(rows.y[i]);
    }
    for (double& t : target) t /= sum;
    return sum > 0;
}

// softmax of the scores over judged documents
template <typename Rows>
void softmax(const Rows& rows, const float* s, std::vector<double>& rho) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < rows.m; ++i) {
        if (rows.y[i] >= 0) top = std::max<double>(top, s[i]);
    }
    rho.assign(rows.m, 0.0);
    for (std::size_t i = 0; i < rows.m; ++i) {
        if (rows.y[i] >= 0) sum += rho[i] = rows.weight_of(i) * math::exp(s[i] - top);
    }
    for (double& r : rho) r /= sum;
}

class SoftmaxStep {
public:
    static constexpr bool takes_sparse = true;

    SoftmaxStep(Targets targets, double gamma, Rate rate, bool one_grade = false)
        : targets_(targets),
          gamma_(gamma),
          rate_(rate),
          one_grade_(one_grade) {}

    template <typename Rows>
    bool operator()(const Rows& rows, const float* s, LinearState& state) {
        if (!target_distribution(targets_, gamma_, rows, target_, one_grade_)) return false;
        softmax(rows, s, rho_);
        const double eta = rows.weight * rate_.at(state.queries);
        for (std::size_t i = 0; i < rows.m; ++i) rho_[i] = eta * (target_[i] - rho_[i]);
        add_rows(rows, rho_.data(), state.w);
        return true;
    }

private:
    Targets targets_;
    double gamma_;
    Rate rate_;
    bool one_grade_;
    std::vector<double> target_, rho_;
};

}  // namespace rankloop
