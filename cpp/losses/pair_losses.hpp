// Losses over the pairs of a query, as each document feels them. Documents stand in ascending order of
// grade, so those of lower grade are the ones before the first of a document's own grade.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "linalg/math.hpp"
#include "linalg/clones.hpp"

namespace rankloop {

// A sum of exponentials, kept so that none overflows.
struct LogSum {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;

    void add(double x) {
        if (x <= largest) {
            sum += math::exp(x - largest);
        } else {
            sum = sum * math::exp(largest - x) + 1;
            largest = x;
        }
    }
    double value() const { return largest + math::log(sum); }
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
        for (first = end; first > 0 && y[first - 1] == y[end - 1]; --first)
            below[first - 1] = log_w[first - 1] + s[first - 1] + known;
        for (std::size_t i = end; i > first; --i) higher.add(log_w[i - 1] - s[i - 1]);
    }
}

// One document against n of lower grade: slopes W = w_i w_j (1 - p) sqrt(p), which are twice the loss's, and
// losses w_i w_j (1 - sqrt(p)), where x = exp(s_j - s_i) = rise_j fall_i and p = 1 / (1 + x).
RANKLOOP_CLONES inline void fidelity_row(const double* rise, const double* w, std::size_t n, double fall, double w_i,
                                         double* slopes, double* losses) {
    for (std::size_t j = 0; j < n; ++j) {
        const double x = rise[j] * fall, p = 1 / (1 + x), root = std::sqrt(p), weight = w_i * w[j];
        slopes[j] = weight * (x * p) * root;
        losses[j] = weight * (1 - root);
    }
}

// The pairs of one query, a row a document: calls each(i, n) for document i and the n of lower grade, `slopes`
// and `losses` being filled. Scores further than `far` from the middle count as that far: the loss is flat there.
struct FidelityPairs {
    static constexpr double far = 300;
    std::vector<double> slopes, losses;

    template <typename Each>
    void visit(const double* s, const double* y, const double* w, std::size_t m, const Each& each) {
        if (m == 0) return;
        const auto [low, high] = std::minmax_element(s, s + m);
        const double middle = *low + (*high - *low) / 2;
        rise_.resize(m), fall_.resize(m), slopes.resize(m), losses.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            const double shifted = std::clamp(s[i] - middle, -far, far);
            rise_[i] = math::exp(shifted);
            fall_[i] = math::exp(-shifted);
        }
        for (std::size_t first = 0, i; first < m; first = i) {
            for (i = first; i < m && y[i] == y[first]; ++i) {
                fidelity_row(rise_.data(), w, first, fall_[i], w[i], slopes.data(), losses.data());
                each(i, first);
            }
        }
    }

private:
    std::vector<double> rise_, fall_;
};

// Fills each document's share of the slope: W_ij where it is the better, less W_ij where it is the worse.
inline double fidelity_query(FidelityPairs& pairs, const double* s, const double* y, const double* w, std::size_t m,
                             double weight, double* potentials) {
    double loss = 0;
    std::fill(potentials, potentials + m, 0.0);
    pairs.visit(s, y, w, m, [&](std::size_t i, std::size_t n) {
        const double* const slopes = pairs.slopes.data();
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
            sum += slopes[j];
            loss += pairs.losses[j];
            potentials[j] -= slopes[j];
        }
        potentials[i] += sum;
    });
    for (std::size_t i = 0; i < m; ++i) potentials[i] *= weight;
    return weight * loss;
}

// For each weak ranker (a row of 0 and 1), the sum of W_ij of the pairs it puts right, and of those it puts wrong.
inline void fidelity_splits_query(FidelityPairs& pairs, const double* s, const double* y, const double* w,
                                  std::size_t m, double weight, const std::uint8_t* rankers, std::size_t count,
                                  std::size_t stride, double* right, double* wrong) {
    pairs.visit(s, y, w, m, [&](std::size_t i, std::size_t n) {
        for (std::size_t k = 0; k < count; ++k) {
            const std::uint8_t* const h = rankers + k * stride;
            double other = 0;  // pairs that it tells apart have the other value below
            for (std::size_t j = 0; j < n; ++j) other += h[j] != h[i] ? pairs.slopes[j] : 0.0;
            (h[i] ? right : wrong)[k] += weight * other;
        }
    });
}

}  // namespace rankloop
