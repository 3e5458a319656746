// SLAM without a rate: coin betting on its subgradients (Orabona and Tommasi 2017, with norms).
#pragma once

#include "online/slam.hpp"

namespace rankloop {

// What a bettor keeps: the sum of its steps, and three numbers.
struct Purse {
    double* sum;      // of the steps g, d numbers
    double* numbers;  // won: sum of g.w; staked: sum of |g|; longest: the largest |g|
};

// g += sum of steps_i (x_i - x_0): steps that add up to 0 but for rounding leave nothing where all rows are alike
RANKLOOP_CLONES inline void add_differences(const float* x, std::size_t m, std::size_t d, const double* steps,
                                            double* g) {
    for (std::size_t i = 1; i < m; ++i) {
        for (std::size_t j = 0; steps[i] != 0 && j < d; ++j)
            g[j] += steps[i] * (static_cast<double>(x[i * d + j]) - x[j]);
    }
}

class BettingSlamStep {
public:
    using Query = SlamStep::Query;

    BettingSlamStep(SlamStep slam, double margin, Purse purse, Influence influence)
        : slam_(std::move(slam)),
          margin_(margin),
          purse_(purse),
          influence_(influence) {}

    void prepare(const QueryRows& rows, Query& query) const { slam_.prepare(rows, query); }

    bool operator()(const QueryRows& rows, Query& query, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        const double* const steps = slam_.descent(rows, query, s, rows.weight);
        if (!steps) return false;
        step_.assign(d, 0.0);
        add_differences(rows.x, rows.m, d, steps, step_.data());
        double length = 0, gain = 0;
        for (std::size_t j = 0; j < d; ++j) length += step_[j] * step_[j];
        length = std::sqrt(length);
        if (!(length > 0)) return false;
        if (!(length <= std::numeric_limits<double>::max())) throw std::runtime_error("its update is not finite");
        const double share = influence_.share(length);
        for (std::size_t j = 0; j < d; ++j) gain += share * step_[j] * state.w[j], purse_.sum[j] += share * step_[j];
        double &won = purse_.numbers[0], &staked = purse_.numbers[1], &longest = purse_.numbers[2];
        won = std::max(0.0, won + gain), staked += share * length, longest = std::max(longest, share * length);
        const double bet = (margin_ + won) / longest / (staked + longest);
        for (std::size_t j = 0; j < d; ++j) state.w[j] = bet * purse_.sum[j];
        return true;
    }

private:
    SlamStep slam_;
    double margin_;
    Purse purse_;
    Influence influence_;
    std::vector<double> step_;
};

}  // namespace rankloop
