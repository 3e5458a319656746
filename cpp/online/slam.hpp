// SLAM perceptron (Algorithm 2) on one query.
#pragma once

#include <cmath>
#include <limits>

#include "online/levels.hpp"
#include "online/loop.hpp"
#include "online/rate.hpp"

namespace rankloop {

enum class SlamWeights { ndcg, ap };

// What the paper leaves open, or we do otherwise.
struct SlamChoices {
    bool only_loss = false;  // steps only where the measure is below 1, not on every mistake
    bool averaged = false;   // documents of one grade share the mean of their weights
};

class SlamStep {
public:
    static constexpr bool takes_sparse = true;

    // What does not depend on scores: grades, and what a place in each weighs before its discount.
    struct Query {
        Levels levels;
        std::vector<double> gains;  // by level: (2^grade - 1) / Z of eq. 11 and 24; 1 / relevant documents for AP
        Discounts discounts;
    };

    SlamStep(SlamWeights weights, std::size_t cutoff, double margin, Rate rate, SlamChoices choices = {})
        : weights_(weights),
          cutoff_(cutoff),
          margin_(margin),
          rate_(rate),
          choices_(choices) {}

    template <typename Rows>
    void prepare(const Rows& rows, Query& query) const {
        query.levels.gather(rows.y, rows.m, weights_ == SlamWeights::ap);
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
            query.gains[level] = math::exp2(levels.grades[level] - levels.grades[0]) - math::exp2(-levels.grades[0]);
            ideal += query.gains[level] * (query.discounts.sum(end) - query.discounts.sum(first));
        }
        for (double& gain : query.gains) gain /= ideal;
    }

    template <typename Rows>
    bool operator()(const Rows& rows, Query& query, const float* s, LinearState& state) {
        const double* const steps = descent(rows, query, s, rows.weight * rate_.at(state.queries));
        if (steps) add_rows(rows, steps, state.w);
        return steps != nullptr;
    }

    // How far to go along each document, -rate * subgradient; nullptr where there is no step to take.
    template <typename Rows>
    const double* descent(const Rows& rows, Query& query, const float* s, double rate) {
        if (query.levels.count() < 2 || !has_mistake(query.levels, s)) return nullptr;
        step_.assign(rows.m, 0.0);
        return subgradient(rows, query, s, rate) ? step_.data() : nullptr;
    }

private:
    static constexpr std::size_t count_up_to = 128;  // documents of a grade; beyond, sorting is faster

    SlamWeights weights_;
    std::size_t cutoff_;
    double margin_;
    Rate rate_;
    SlamChoices choices_;
    std::vector<float> best_below_;         // highest score among lower grades, by level
    std::vector<std::uint32_t> its_owner_;  // whose it is: the lowest row where several have it
    std::vector<std::uint32_t> places_, sorted_;
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

    // step_ = -rate * subgradient of sum_i weight_i v_i max(0, margin + best_below - s_i).
    template <typename Rows>
    bool subgradient(const Rows& rows, Query& query, const float* s, double rate) {
        const Levels& levels = query.levels;
        bool any = false, lost = !choices_.only_loss;
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            const std::size_t first = levels.starts[level], end = levels.starts[level + 1],
                              inside = std::min(end, cutoff_);
            if (query.gains[level] == 0) continue;
            const bool by_place = weights_ == SlamWeights::ndcg && (!choices_.averaged || !lost);
            if (by_place) find_places(levels, s, first, end);
            const double mean = choices_.averaged ? (query.discounts.sum(inside) - query.discounts.sum(first)) /
                                                        static_cast<double>(end - first)
                                                  : 0;
            for (std::size_t k = first; k < end; ++k) {
                const std::uint32_t i = levels.documents[k];
                const std::size_t rank = by_place ? first + places_[k - first] : first;
                lost |= rank < cutoff_ && s[i] <= best_below_[level];
                if (!(margin_ + best_below_[level] - s[i] > 0)) continue;
                double v = query.gains[level] * rows.weight_of(i);
                if (weights_ == SlamWeights::ndcg && choices_.averaged) {
                    v *= mean;
                } else if (weights_ == SlamWeights::ndcg) {
                    if (rank >= cutoff_) continue;
                    v *= query.discounts.sum(rank + 1) - query.discounts.sum(rank);
                }
                step_[i] += rate * v;
                step_[its_owner_[level]] -= rate * v;
                any = true;
            }
        }
        return any && lost;
    }

    // places_[k] = the place inside its grade of the k-th document of it: by score, highest first, then by row.
    void find_places(const Levels& levels, const float* s, std::size_t first, std::size_t end) {
        const std::uint32_t* const documents = levels.documents.data() + first;
        const std::size_t n = end - first;
        places_.resize(n);
        if (n > count_up_to) {
            sorted_.resize(n);
            for (std::size_t k = 0; k < n; ++k) sorted_[k] = static_cast<std::uint32_t>(k);
            std::sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) {
                return s[documents[a]] != s[documents[b]] ? s[documents[a]] > s[documents[b]] : a < b;
            });
            for (std::size_t k = 0; k < n; ++k) places_[sorted_[k]] = static_cast<std::uint32_t>(k);
            return;
        }
        for (std::size_t k = 0; k < n; ++k) {
            const float own = s[documents[k]];
            std::uint32_t before = 0;
            for (std::size_t l = 0; l < n; ++l)
                before += (s[documents[l]] > own) | ((s[documents[l]] == own) & (l < k));
            places_[k] = before;
        }
    }
};

}  // namespace rankloop
