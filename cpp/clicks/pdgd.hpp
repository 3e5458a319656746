// Pairwise differentiable gradient descent: a step along the gradient of the probability that preferred documents are
// drawn before others. Each pair has a weight that makes up for the better position of one of the two.
#pragma once

#include <cmath>
#include <vector>

#include "clicks/plackett_luce.hpp"
#include "online/loop.hpp"

namespace rankloop {

// How the rankings of a batch were drawn, one number per row. Without ranks, the queries are judged ones.
struct ShownRows {
    const float* x = nullptr;             // the batch's first row
    const std::int32_t* ranks = nullptr;  // from 1; 0: not shown
    const double* scores = nullptr;       // by which the ranking was drawn
};

// The step size of round t (from 0): rate decay^t.
struct GeometricRate {
    double rate, decay;
    double at(std::int64_t t) const {
        return decay == 1 ? rate : rate * math::exp(static_cast<double>(t) * math::log(decay));
    }
};

// What a ranking leaves of the weights before it: below 1, the past fades and lists become more random again.
struct Fading {
    double keep = 1;
    void operator()(LinearState& state) const {
        for (std::size_t j = 0; keep < 1 && j < state.d; ++j) state.w[j] *= keep;
    }
};

// Grades say which documents are preferred: clicked ones have 1, those that were seen but not clicked 0, others -1. The
// weight of a pair is the probability of the list with the two exchanged, divided by the sum of both lists'
// probabilities. So a preference that the positions made likely counts less, and over a pair and its reversal position
// bias cancels. In judged queries nothing was shown, and both orders count the same: 1/2.
class PdgdStep {
public:
    PdgdStep(GeometricRate rate, Fading fade, ShownRows shown) : rate_(rate), fade_(fade), shown_(shown) {}

    bool operator()(const QueryRows& rows, const float* s, LinearState& state) {
        if (!gather(rows)) return false;
        if (shown_.ranks) prepare(rows);
        const double eta = rows.weight * rate_.at(state.queries);
        g_.assign(rows.m, 0.0);
        for (const std::size_t i : judged_) {
            for (const std::size_t j : judged_) {
                if (!(rows.y[i] > rows.y[j])) continue;
                // e_i e_j / (e_i + e_j)^2 by the difference of scores, whose exponential cannot overflow.
                const double apart = math::exp(-std::abs(static_cast<double>(s[i]) - static_cast<double>(s[j])));
                const double share = shown_.ranks ? reversal_.share(position(i), position(j)) : 0.5;
                const double step =
                    eta * rows.weight_of(i) * rows.weight_of(j) * share * (apart / ((1 + apart) * (1 + apart)));
                g_[i] += step, g_[j] -= step;
            }
        }
        fade_(state);
        add_rows(rows.x, rows.m, state.d, g_.data(), state.w);
        return true;
    }

private:
    GeometricRate rate_;
    Fading fade_;
    ShownRows shown_;
    Reversal reversal_;
    std::vector<std::size_t> judged_;
    std::vector<std::int64_t> order_;
    std::vector<double> g_;
    const std::int32_t* ranks_ = nullptr;  // of this query

    // Whether there is a pair to learn from.
    bool gather(const QueryRows& rows) {
        judged_.clear();
        double low = math::infinity, top = -1;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] < 0) continue;
            judged_.push_back(i), low = std::min(low, rows.y[i]), top = std::max(top, rows.y[i]);
        }
        return low < top;
    }

    void prepare(const QueryRows& rows) {
        const auto first = static_cast<std::size_t>(rows.x - shown_.x) / rows.d;
        ranks_ = shown_.ranks + first;
        order_.assign(static_cast<std::size_t>(*std::max_element(ranks_, ranks_ + rows.m)), 0);
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (ranks_[i] > 0) order_[position(i)] = static_cast<std::int64_t>(i);
        }
        reversal_.prepare(shown_.scores + first, rows.m, order_.data(), order_.size());
    }

    std::size_t position(std::size_t row) const { return static_cast<std::size_t>(ranks_[row]) - 1; }
};

}  // namespace rankloop
