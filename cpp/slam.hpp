// SLAM perceptron (Algorithm 2) and the minimax perceptron (Algorithm 3) on one query.
#pragma once

#include <cmath>
#include <limits>

#include "online.hpp"

namespace rankloop {

// The step size of round t (from 0): rate / (1 + t)^decay.
struct Rate {
    double rate, decay;
    double at(std::int64_t t) const { return decay == 0 ? rate : rate / std::pow(1.0 + static_cast<double>(t), decay); }
};

enum class SlamWeights { ndcg, ap };

class SlamStep {
public:
    SlamStep(SlamWeights weights, std::size_t cutoff, double margin, Rate rate)
        : weights_(weights), cutoff_(cutoff), margin_(margin), rate_(rate) {}

    using Query = Levels;

    void prepare(const float*, const double* y, std::size_t m, std::size_t, Query& levels) const {
        levels.gather(y, m, weights_ == SlamWeights::ap);
    }

    bool operator()(const float* x, const Query& levels, std::size_t m, const float* s, LinearState& state) {
        levels_ = &levels;
        if (levels.count() < 2 || !has_mistake(s)) return false;
        step_.assign(m, 0.0);
        if (!subgradient(s, rate_.at(state.queries))) return false;
        add_rows(x, m, state.d, step_.data(), state.w);
        return true;
    }

private:
    SlamWeights weights_;
    std::size_t cutoff_;
    double margin_;
    Rate rate_;
    const Levels* levels_ = nullptr;
    std::vector<float> best_below_;         // highest score among lower grades, by level
    std::vector<std::uint32_t> its_owner_;  // whose it is: the lowest row where several have it
    std::vector<double> step_, discount_sums_;

    // A mistake: some document scores no more than one of a lower grade. Fills best_below_ too.
    bool has_mistake(const float* s) {
        const std::size_t n = levels_->count();
        best_below_.resize(n), its_owner_.resize(n);
        float best = -std::numeric_limits<float>::infinity();
        std::uint32_t owner = 0;
        bool mistake = false;
        for (std::size_t level = n; level-- > 0;) {
            best_below_[level] = best, its_owner_[level] = owner;
            const bool lowest = level + 1 == n;
            for (std::size_t k = levels_->starts[level]; k < levels_->starts[level + 1]; ++k) {
                const std::uint32_t i = levels_->documents[k];
                mistake |= !lowest && s[i] <= best_below_[level];
                if (s[i] > best || (s[i] == best && i < owner)) best = s[i], owner = i;
            }
        }
        return mistake;
    }

    // step_ = -rate * subgradient of sum_i v_i max(0, margin + best_below - s_i).
    bool subgradient(const float* s, double rate) {
        const double scale = 1 / normaliser();
        bool any = false;
        for (std::size_t level = 0; level + 1 < levels_->count(); ++level) {
            const std::size_t first = levels_->starts[level], end = levels_->starts[level + 1];
            if (weights_ == SlamWeights::ndcg && first >= cutoff_) break;
            const double gain = weights_ == SlamWeights::ndcg ? scaled_gain(level) : 1;
            for (std::size_t k = first; k < end; ++k) {
                const std::uint32_t i = levels_->documents[k];
                if (!(margin_ + best_below_[level] - s[i] > 0)) continue;
                const double v = gain * scale * (weights_ == SlamWeights::ndcg ? discount(first + place(s, i, first, end)) : 1);
                if (v == 0) continue;
                step_[i] += rate * v;
                step_[its_owner_[level]] -= rate * v;
                any = true;
            }
        }
        return any;
    }

    // Place inside a grade by score, highest first, earlier rows first.
    std::size_t place(const float* s, std::uint32_t i, std::size_t first, std::size_t end) const {
        std::size_t before = 0;
        for (std::size_t k = first; k < end; ++k) {
            const std::uint32_t j = levels_->documents[k];
            before += s[j] > s[i] || (s[j] == s[i] && j < i);
        }
        return before;
    }

    double discount(std::size_t rank) {
        return rank < cutoff_ ? discount_sum(rank + 1) - discount_sum(rank) : 0;
    }

    double discount_sum(std::size_t n) {  // of the first n ranks
        if (discount_sums_.empty()) discount_sums_.push_back(0);
        while (discount_sums_.size() <= n) {
            discount_sums_.push_back(discount_sums_.back() + 1 / std::log2(1.0 + static_cast<double>(discount_sums_.size())));
        }
        return discount_sums_[n];
    }

    // (2^grade - 1) / 2^top: only ratios count, and no grade overflows.
    double scaled_gain(std::size_t level) const {
        return std::exp2(levels_->grades[level] - levels_->grades[0]) - std::exp2(-levels_->grades[0]);
    }

    // Z of eq. 11 and 24; the number of relevant documents for AP.
    double normaliser() {
        if (weights_ == SlamWeights::ap) return static_cast<double>(levels_->starts[1]);
        double ideal = 0;
        for (std::size_t level = 0; level < levels_->count(); ++level) {
            const std::size_t first = std::min(levels_->starts[level], cutoff_), end = std::min(levels_->starts[level + 1], cutoff_);
            ideal += scaled_gain(level) * (discount_sum(end) - discount_sum(first));
        }
        return ideal;
    }
};

class MinimaxStep {
public:
    explicit MinimaxStep(Rate rate) : rate_(rate) {}

    // One pair: the worst violation, the lowest rows where several are as bad.
    bool operator()(const float* x, const double* y, std::size_t m, const float* s, LinearState& state) {
        levels_.gather(y, m);
        float highest = -std::numeric_limits<float>::infinity(), worst = highest;
        std::uint32_t high = 0, better = 0, worse = 0;
        for (std::size_t level = levels_.count(); level-- > 0;) {  // worst grade first
            const float above = highest;
            const std::uint32_t owner = high;
            for (std::size_t k = levels_.starts[level]; k < levels_.starts[level + 1]; ++k) {
                const std::uint32_t i = levels_.documents[k];
                if (above - s[i] > worst || (above - s[i] == worst && i < better)) worst = above - s[i], better = i, worse = owner;
                if (s[i] > highest || (s[i] == highest && i < high)) highest = s[i], high = i;
            }
        }
        if (!(worst >= 0)) return false;  // every document above all of lower grades: no mistake
        const double eta = rate_.at(state.queries);
        const float *a = x + better * state.d, *b = x + worse * state.d;
        for (std::size_t j = 0; j < state.d; ++j) state.w[j] += eta * (static_cast<double>(a[j]) - b[j]);
        return true;
    }

private:
    Rate rate_;
    Levels levels_;
};

}  // namespace rankloop
