// Which of several rankers holds now: weights that follow each query's loss, and let any of them come back.
//
// The loss of a ranker is that of the Newton rankers, less its least value: with targets t, scores s and c the root of
// the sum of gains, c sum_i t_i log(t_i / rho_i), rho = softmax(s). A weight is multiplied by exp(-loss), as Bayes' rule
// does with a likelihood; then each gets a small share of all, so that none is lost for ever.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "online/mix.hpp"
#include "online/softmax.hpp"

namespace rankloop {

class RelativeLoss {
public:
    // Takes a query; false where it says nothing about the order of its documents.
    bool take(const QueryRows& rows) {
        rows_ = &rows;
        if (!(rows.weight > 0) || !target_distribution(Targets::gains, 1, rows, target_)) return false;
        double gains = 0;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] > 0) gains += rows.weight_of(i) * (math::exp2(rows.y[i]) - 1);
        }
        c_ = std::min(rows.weight * std::sqrt(gains), largest);
        return true;
    }

    double of(const float* s) const {
        double top = -std::numeric_limits<double>::infinity(), sum = 0, value = 0;
        for (std::size_t i = 0; i < rows_->m; ++i) {
            if (judged(i)) top = std::max<double>(top, s[i]);
        }
        for (std::size_t i = 0; i < rows_->m; ++i) {
            if (!judged(i)) continue;
            sum += rows_->weight_of(i) * math::exp(s[i] - top);
            if (target_[i] > 0) value += target_[i] * (math::log(target_[i] / rows_->weight_of(i)) - (s[i] - top));
        }
        const double loss = c_ * (value + math::log(sum));
        return loss < largest ? std::max(loss, 0.0) : largest;  // NaN, of scores that are not finite, is the worst
    }

private:
    static constexpr double largest = 1e100;
    const QueryRows* rows_ = nullptr;
    double c_ = 0;
    std::vector<double> target_;

    bool judged(std::size_t i) const { return rows_->y[i] >= 0 && rows_->weight_of(i) > 0; }
};

// w_k ~ w_k exp(-loss_k), then (1 - share) w_k + share / K
inline void adapt_weights(const double* losses, std::size_t experts, double share, double* weights) {
    const double least = *std::min_element(losses, losses + experts);
    double sum = 0;
    for (std::size_t k = 0; k < experts; ++k) sum += weights[k] *= math::exp(least - losses[k]);
    // The weight of the best is never 0, since all had their share; so neither is the sum.
    for (std::size_t k = 0; k < experts; ++k)
        weights[k] = (1 - share) * (weights[k] / sum) + share / static_cast<double>(experts);
}

}  // namespace rankloop
