// Which of several rankers holds now: weights that follow each query's loss, and let any of them come back.
//
// The loss of a ranker is that of the Newton rankers, less its least value: with targets t, scores s and c the root of
// the sum of gains, c sum_i t_i log(t_i / rho_i), rho = softmax(s). A weight is multiplied by exp(-loss), as Bayes' rule
// does with a likelihood; then each gets a small share of all, so that none is lost for ever.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// What experts say of one query, each of them one ranker or several: `seats` are pairs of an expert and a ranker.
class Experts {
public:
    Experts(const std::int64_t* seats, std::size_t count, std::size_t experts, std::size_t rankers)
        : seats_(seats),
          count_(count),
          rankers_(rankers),
          sizes_(experts) {
        for (std::size_t s = 0; s < count; ++s) ++sizes_[expert(s)];
    }

    std::size_t size() const { return sizes_.size(); }

    // Takes the scores of m documents; a ranker's start `stride` after those of the one before it.
    template <typename T>
    void take(const T* scores, std::size_t stride, std::size_t m) {
        m_ = m;
        wide_.resize(m), scaled_.resize(rankers_ * m);
        for (std::size_t k = 0; k < rankers_; ++k) {
            std::copy_n(scores + k * stride, m, wide_.data());
            standardise(wide_.data(), m, scaled_.data() + k * m);
        }
    }

    // out = the weighted sum of standardised scores; the rankers of an expert share its weight.
    void mix(const double* weights, double* out) const {
        std::fill_n(out, m_, 0.0);
        for (std::size_t s = 0; s < count_; ++s) {
            const double weight = weights[expert(s)] / sizes_[expert(s)];
            const double* const own = scaled_.data() + ranker(s) * m_;
            for (std::size_t i = 0; i < m_; ++i) out[i] += weight * own[i];
        }
    }

    // The loss of each expert, of the mean of its rankers' scores.
    void losses(const RelativeLoss& loss, const float* scores, std::size_t stride, double* out) {
        each_mean(scores, stride, [&](std::size_t k) { out[k] = loss.of(mean_.data()); });
    }

    // The same of standardised scores, which say only where documents are, not how sure a ranker is.
    void order_losses(const RelativeLoss& loss, double* out) {
        each_mean(scaled_.data(), m_, [&](std::size_t k) { out[k] = loss.of(mean_.data()); });
    }

private:
    const std::int64_t* seats_;
    std::size_t count_, rankers_, m_ = 0;
    std::vector<double> sizes_, wide_, scaled_;
    std::vector<float> mean_;

    std::size_t expert(std::size_t seat) const { return static_cast<std::size_t>(seats_[2 * seat]); }
    std::size_t ranker(std::size_t seat) const { return static_cast<std::size_t>(seats_[2 * seat + 1]); }

    template <typename T, typename Body>
    void each_mean(const T* scores, std::size_t stride, const Body& body) {
        for (std::size_t k = 0; k < size(); ++k) {
            mean_.assign(m_, 0.0f);
            for (std::size_t s = 0; s < count_; ++s) {
                if (expert(s) != k) continue;
                for (std::size_t i = 0; i < m_; ++i) mean_[i] += static_cast<float>(scores[ranker(s) * stride + i]);
            }
            for (float& value : mean_) value /= static_cast<float>(sizes_[k]);
            body(k);
        }
    }
};

}  // namespace rankloop
