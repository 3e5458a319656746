// SLAM perceptron (Algorithm 2) and the minimax perceptron (Algorithm 3) on one query.
#pragma once

#include <cmath>
#include <limits>

#include "online/loop.hpp"

namespace rankloop {

// The step size of round t (from 0): rate / (1 + t)^decay.
struct Rate {
    double rate, decay;
    double at(std::int64_t t) const { return decay == 0 ? rate : rate / std::pow(1.0 + static_cast<double>(t), decay); }
};

enum class SlamWeights { ndcg, ap };

// Sums of 1/log2(1 + rank) over the first ranks.
class Discounts {
public:
    double sum(std::size_t n) {
        while (sums_.size() <= n) sums_.push_back(sums_.back() + 1 / std::log2(1.0 + static_cast<double>(sums_.size())));
        return sums_[n];
    }

private:
    std::vector<double> sums_ = {0.0};
};

class SlamStep {
public:
    // What does not depend on scores: grades, and what a place in each weighs before its discount.
    struct Query {
        Levels levels;
        std::vector<double> gains;  // by level: (2^grade - 1) / Z of eq. 11 and 24; 1 / relevant documents for AP
        Discounts discounts;
    };

    SlamStep(SlamWeights weights, std::size_t cutoff, double margin, Rate rate)
        : weights_(weights), cutoff_(cutoff), margin_(margin), rate_(rate) {}

    void prepare(const float*, const double* y, std::size_t m, std::size_t, Query& query) const {
        query.levels.gather(y, m, weights_ == SlamWeights::ap);
        const Levels& levels = query.levels;
        query.gains.assign(levels.count(), 0.0);
        if (levels.count() < 2) return;
        if (weights_ == SlamWeights::ap) {
            query.gains[0] = 1 / static_cast<double>(levels.starts[1]);
            return;
        }
        double ideal = 0;
        for (std::size_t level = 0; level < levels.count(); ++level) {
            const std::size_t first = levels.starts[level], end = std::min(levels.starts[level + 1], cutoff_);
            if (first >= end) break;
            // (2^grade - 1) / 2^top: only ratios count, and no grade overflows
            query.gains[level] = std::exp2(levels.grades[level] - levels.grades[0]) - std::exp2(-levels.grades[0]);
            ideal += query.gains[level] * (query.discounts.sum(end) - query.discounts.sum(first));
        }
        for (double& gain : query.gains) gain /= ideal;
    }

    bool operator()(const float* x, Query& query, std::size_t m, const float* s, LinearState& state) {
        if (query.levels.count() < 2 || !has_mistake(query.levels, s)) return false;
        step_.assign(m, 0.0);
        if (!subgradient(query, s, rate_.at(state.queries))) return false;
        add_rows(x, m, state.d, step_.data(), state.w);
        return true;
    }

private:
    SlamWeights weights_;
    std::size_t cutoff_;
    double margin_;
    Rate rate_;
    std::vector<float> best_below_;         // highest score among lower grades, by level
    std::vector<std::uint32_t> its_owner_;  // whose it is: the lowest row where several have it
    std::vector<double> step_;

    // A mistake: some document scores no more than one of a lower grade. Fills best_below_ too.
    bool has_mistake(const Levels& levels, const float* s) {
        const std::size_t n = levels.count();
        best_below_.resize(n), its_owner_.resize(n);
        float best = -std::numeric_limits<float>::infinity();
        std::uint32_t owner = 0;
        bool mistake = false;
        for (std::size_t level = n; level-- > 0;) {
            best_below_[level] = best, its_owner_[level] = owner;
            float lowest = std::numeric_limits<float>::infinity(), highest = -lowest;
            for (std::size_t k = levels.starts[level]; k < levels.starts[level + 1]; ++k) {
                const float score = s[levels.documents[k]];
                lowest = std::min(lowest, score), highest = std::max(highest, score);
            }
            if (highest >= best) {  // rows of a grade are in order: the first that has it
                std::size_t k = levels.starts[level];
                while (s[levels.documents[k]] != highest && k + 1 < levels.starts[level + 1]) ++k;
                owner = highest > best ? levels.documents[k] : std::min(owner, levels.documents[k]);
                best = highest;
            }
            mistake |= level + 1 < n && lowest <= best_below_[level];
        }
        return mistake;
    }

    // step_ = -rate * subgradient of sum_i v_i max(0, margin + best_below - s_i).
    bool subgradient(Query& query, const float* s, double rate) {
        const Levels& levels = query.levels;
        bool any = false;
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            const std::size_t first = levels.starts[level], end = levels.starts[level + 1];
            if (query.gains[level] == 0) continue;
            for (std::size_t k = first; k < end; ++k) {
                const std::uint32_t i = levels.documents[k];
                if (!(margin_ + best_below_[level] - s[i] > 0)) continue;
                double v = query.gains[level];
                if (weights_ == SlamWeights::ndcg) {
                    const std::size_t rank = first + place(levels, s, i, first, end);
                    if (rank >= cutoff_) continue;
                    v *= query.discounts.sum(rank + 1) - query.discounts.sum(rank);
                }
                step_[i] += rate * v;
                step_[its_owner_[level]] -= rate * v;
                any = true;
            }
        }
        return any;
    }

    // Place inside a grade by score, highest first, earlier rows first.
    static std::size_t place(const Levels& levels, const float* s, std::uint32_t i, std::size_t first, std::size_t end) {
        std::size_t before = 0;
        for (std::size_t k = first; k < end; ++k) {
            const std::uint32_t j = levels.documents[k];
            before += (s[j] > s[i]) | ((s[j] == s[i]) & (j < i));
        }
        return before;
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
