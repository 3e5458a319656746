// Losses over the pairs of a query, as each document feels them. Documents stand in ascending order of
// grade, so those of lower grade are the ones before the first of a document's own grade.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "clones.hpp"

namespace rankloop {

// A sum of exponentials, kept so that none overflows.
struct LogSum {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;

    void add(double x) {
        if (x <= largest) {
            sum += std::exp(x - largest);
        } else {
            sum = sum * std::exp(largest - x) + 1;
            largest = x;
        }
    }
    double value() const { return largest + std::log(sum); }
};

// The logarithm of sum w_i w_j exp(s_j - s_i) over pairs in which the document is the better (above),
// and the worse (below). The sum factorises, hence O(m).
inline void exponential_query(const double* s, const double* y, const double* log_w, std::size_t m, double* above,
                              double* below) {
    LogSum lower, higher;
    for (std::size_t first = 0, end; first < m; first = end) {
        const double known = first ? lower.value() : lower.largest;
        for (end = first; end < m && y[end] == y[first]; ++end) above[end] = log_w[end] - s[end] + known;
        for (std::size_t i = first; i < end; ++i) lower.add(log_w[i] + s[i]);
    }
    for (std::size_t end = m, first; end > 0; end = first) {
        const double known = end < m ? higher.value() : higher.largest;
        for (first = end; first > 0 && y[first - 1] == y[end - 1]; --first) below[first - 1] = log_w[first - 1] + s[first - 1] + known;
        for (std::size_t i = end; i > first; --i) higher.add(log_w[i - 1] - s[i - 1]);
    }
}

// The fidelity of a query's pairs: 1 - sqrt(p) with p = 1 / (1 + exp(s_j - s_i)). Scores further apart
// than `far` count as that far: the loss is flat there.
class FidelityPairs {
public:
    // Calls each(i, j, W_ij, w_i w_j (1 - sqrt p)) for every pair, R_i > R_j; W = w_i w_j (1 - p) sqrt(p), which
    // is twice the slope.
    template <typename Each>
    void visit(const double* s, const double* y, const double* w, std::size_t m, const Each& each) {
        constexpr double far = 300;
        const auto [low, high] = std::minmax_element(s, s + m);
        const double middle = m ? *low + (*high - *low) / 2 : 0;
        rise_.resize(m), fall_.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            const double shifted = std::clamp(s[i] - middle, -far, far);
            rise_[i] = std::exp(shifted);
            fall_[i] = std::exp(-shifted);
        }
        for (std::size_t first = 0, end; first < m; first = end) {
            for (end = first; end < m && y[end] == y[first]; ++end) {
                for (std::size_t j = 0; j < first; ++j) {
                    const double x = rise_[j] * fall_[end], p = 1 / (1 + x), root = std::sqrt(p), ww = w[end] * w[j];
                    each(end, j, ww * (x * p) * root, ww * (1 - root));
                }
            }
        }
    }

private:
    std::vector<double> rise_, fall_;
};

// Fills each document's share of the slope: W_ij where it is the better, less W_ij where it is the worse.
RANKLOOP_CLONES inline double fidelity_query(const double* s, const double* y, const double* w, std::size_t m,
                                             double weight, double* potentials) {
    FidelityPairs pairs;
    double loss = 0;
    std::fill(potentials, potentials + m, 0.0);
    pairs.visit(s, y, w, m, [&](std::size_t i, std::size_t j, double slope, double value) {
        potentials[i] += weight * slope;
        potentials[j] -= weight * slope;
        loss += value;
    });
    return weight * loss;
}

// For each weak ranker (a row of 0 and 1), the sum of W_ij of the pairs it puts right, and of those it puts wrong.
inline void fidelity_splits_query(const double* s, const double* y, const double* w, std::size_t m, double weight,
                                  const std::uint8_t* rankers, std::size_t count, std::size_t stride, double* right,
                                  double* wrong) {
    FidelityPairs pairs;
    pairs.visit(s, y, w, m, [&](std::size_t i, std::size_t j, double slope, double) {
        for (std::size_t k = 0; k < count; ++k) {
            const int up = rankers[k * stride + i], down = rankers[k * stride + j];
            right[k] += up > down ? weight * slope : 0.0;
            wrong[k] += up < down ? weight * slope : 0.0;
        }
    });
}

}  // namespace rankloop
