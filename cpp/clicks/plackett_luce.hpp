// Rankings by Plackett and Luce: documents are drawn one after the other, each with a chance proportional to
// exp(score) among those that are left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "linalg/math.hpp"

namespace rankloop {

// A draw of Gumbel's distribution from one in [0, 1).
inline double gumbel(double uniform) { return -math::log(-math::log(std::max(uniform, 0x1p-54))); }

// Draws the first k documents: those with the largest score + Gumbel noise have this distribution (the Gumbel-max
// trick). Drawing them one after the other would need k passes over the scores. It takes one uniform draw per document;
// equal sums stay in row order, so that the result is the same on every machine.
class PlackettLuceSample {
public:
    template <typename Score>
    void operator()(const Score* scores, std::size_t m, const double* uniform, std::size_t k, std::int64_t* order) {
        keys_.resize(m), rows_.resize(m);
        for (std::size_t i = 0; i < m; ++i) keys_[i] = static_cast<double>(scores[i]) + gumbel(uniform[i]);
        std::iota(rows_.begin(), rows_.end(), 0);
        const auto before = [&](std::int64_t a, std::int64_t b) {
            const double x = keys_[static_cast<std::size_t>(a)], y = keys_[static_cast<std::size_t>(b)];
            return x > y || (x == y && a < b);
        };
        std::partial_sort(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(k), rows_.end(), before);
        std::copy_n(rows_.begin(), k, order);
    }

private:
    std::vector<double> keys_;
    std::vector<std::int64_t> rows_;
};

// How likely a ranking is with two of its documents exchanged, compared with the ranking itself. With e = exp(score)
// and A_i the sum of e over what is left at position i without either document,
//
//     P(exchanged) / P(as shown) = product over i in (a, b] of (A_i + e_b) / (A_i + e_a).
//
// All sums have positive terms only, so no digits cancel. Scores far below the best one count as `deepest` below it, so
// that no sum is 0.
class Reversal {
public:
    static constexpr double deepest = 600;

    // order: the n rows shown, of m candidates
    template <typename Score>
    void prepare(const Score* scores, std::size_t m, const std::int64_t* order, std::size_t n) {
        const double best = *std::max_element(scores, scores + m);
        all_.resize(m), shown_.resize(n);
        for (std::size_t i = 0; i < m; ++i)
            all_[i] = math::exp(std::max(static_cast<double>(scores[i]) - best, -deepest));
        for (std::size_t p = 0; p < n; ++p) {
            double& e = all_[static_cast<std::size_t>(order[p])];
            shown_[p] = e, e = 0;
        }
        after_.assign(n + 1, std::accumulate(all_.begin(), all_.end(), 0.0));
        for (std::size_t p = n; p-- > 0;) after_[p] = after_[p + 1] + shown_[p];
    }

    // P(exchanged) / (P(exchanged) + P(as shown)) for positions a and b, from 0
    double share(std::size_t a, std::size_t b) const {
        if (a > b) std::swap(a, b);
        double left = after_[b + 1], odds = 1;
        for (std::size_t i = b; i > a; --i) {
            odds *= (left + shown_[b]) / (left + shown_[a]);
            left += shown_[i - 1];
        }
        return odds <= 1 ? odds / (1 + odds) : 1 / (1 + 1 / odds);
    }

private:
    std::vector<double> all_, shown_, after_;
};

}  // namespace rankloop
