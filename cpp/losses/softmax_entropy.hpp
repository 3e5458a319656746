// Cross entropy of a target distribution and the softmax of the scores: ListNet and XE_NDCG. A
// document of weight a stands for a copies of itself, in the target and in the softmax.
#pragma once

#include <cmath>

#include "linalg/math.hpp"
#include "losses/judged.hpp"
#include "losses/targets.hpp"

namespace rankloop {

class SoftmaxEntropy {
public:
    SoftmaxEntropy(const Judged& judged, Targets kind, double gamma)
        : judged_(judged),
          target_(judged.rows.size()),
          rho_(judged.rows.size()),
          mass_(judged.queries()) {
        for (std::size_t q = 0; q < judged.queries(); ++q) {
            const std::size_t first = judged.begin[q], end = judged.begin[q + 1];
            if (first == end) continue;                                // nothing judged: no mass
            const TargetGain gain(kind, gamma, judged.grades[first]);  // the first is the highest
            double sum = 0;
            for (std::size_t i = first; i < end; ++i) sum += target_[i] = judged.weights[i] * gain(judged.grades[i]);
            mass_[q] = sum > 0 ? 1 : 0;
            for (std::size_t i = first; i < end; ++i) target_[i] = sum > 0 ? target_[i] / sum : 0;
        }
    }

    double at(std::size_t q, const double* s, double* g) {
        const std::size_t m = judged_.size(q), first = judged_.begin[q];
        const double top = *std::max_element(s, s + m);
        double sum = 0, value = 0;
        for (std::size_t i = 0; i < m; ++i) sum += rho_[first + i] = judged_.weights[first + i] * math::exp(s[i] - top);
        for (std::size_t i = 0; i < m; ++i) {
            rho_[first + i] *= mass_[q] / sum;
            value -= target_[first + i] * (s[i] - top);
            g[i] += rho_[first + i] - target_[first + i];
        }
        return value + mass_[q] * math::log(sum);
    }

    void product(std::size_t q, const double* v, double* out) {
        const double* const rho = rho_.data() + judged_.begin[q];
        double mean = 0;
        for (std::size_t i = 0; i < judged_.size(q); ++i) mean += rho[i] * v[i];
        for (std::size_t i = 0; i < judged_.size(q); ++i) out[i] += rho[i] * (v[i] - mean);
    }

    void diagonal(std::size_t q, double* out) {
        const double* const rho = rho_.data() + judged_.begin[q];
        for (std::size_t i = 0; i < judged_.size(q); ++i) out[i] += rho[i] * (1 - rho[i]);
    }

private:
    const Judged& judged_;
    std::vector<double> target_, rho_;  // both sum to 1 over a query, or to 0
    std::vector<double> mass_;          // to which
};

}  // namespace rankloop
