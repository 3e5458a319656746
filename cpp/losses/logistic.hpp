// The logistic loss over all pairs: sum of a_i a_j log(1 + exp(s_j - s_i)). O(m^2) a query; with
// e = exp(s) taken once a document, a pair costs one division, four pairs at a time.
#pragma once

#include <cmath>

#include "linalg/math.hpp"
#include "linalg/clones.hpp"
#include "linalg/vectors.hpp"
#include "losses/judged.hpp"

namespace rankloop {

// One better document (a, e, v) beside n worse ones. Returns the sum over j of a_j p_j, where p is the
// chance of the wrong order, and adds a a_j p_j to g_j.
RANKLOOP_CLONES inline double push_down(double a, double e, const double* aj, const double* ej, std::size_t n,
                                        double* g) {
    Double4 sums{};
    double sum = 0;
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const Double4 other = *reinterpret_cast<const LooseDouble4*>(ej + j);
        const Double4 pull = *reinterpret_cast<const LooseDouble4*>(aj + j) * other / (e + other);
        *reinterpret_cast<LooseDouble4*>(g + j) += a * pull;
        sums += pull;
    }
    for (; j < n; ++j) {
        const double pull = aj[j] * ej[j] / (e + ej[j]);
        g[j] += a * pull;
        sum += pull;
    }
    return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// The same for H v: returns the sum over j of a_j p_j (1 - p_j) (v - v_j), and takes a times it from out_j.
RANKLOOP_CLONES inline double bend(double a, double e, double v, const double* aj, const double* ej, const double* vj,
                                   std::size_t n, double* out) {
    Double4 sums{};
    double sum = 0;
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const Double4 other = *reinterpret_cast<const LooseDouble4*>(ej + j);
        const Double4 part = 1.0 / (e + other);  // two factors, so that neither overflows
        const Double4 pull = *reinterpret_cast<const LooseDouble4*>(aj + j) * ((e * part) * (other * part)) *
                             (v - *reinterpret_cast<const LooseDouble4*>(vj + j));
        *reinterpret_cast<LooseDouble4*>(out + j) -= a * pull;
        sums += pull;
    }
    for (; j < n; ++j) {
        const double part = 1 / (e + ej[j]), pull = aj[j] * ((e * part) * (ej[j] * part)) * (v - vj[j]);
        out[j] -= a * pull;
        sum += pull;
    }
    return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Sum of log(1 + e_j / e), for ratios up to e^80: eight factors have one logarithm.
RANKLOOP_CLONES inline double log_ratios(double e, const double* ej, std::size_t n) {
    const double inverse = 1 / e;
    double sum = 0;
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        double factor = 1;
        for (std::size_t k = 0; k < 8; ++k) factor *= 1 + ej[j + k] * inverse;
        sum += math::log(factor);
    }
    double factor = 1;
    for (; j < n; ++j) factor *= 1 + ej[j] * inverse;
    return sum + math::log(factor);
}

class PairwiseLogistic {
public:
    explicit PairwiseLogistic(const Judged& judged)
        : judged_(judged),
          s_(judged.rows.size()),
          e_(s_.size()),
          narrow_(judged.queries()) {
        for (std::size_t q = 0; q < judged.queries(); ++q) {
            const auto a = judged.weights.begin() + static_cast<std::ptrdiff_t>(judged.begin[q]);
            plain_.push_back(
                std::all_of(a, a + static_cast<std::ptrdiff_t>(judged.size(q)), [](double w) { return w == 1; }));
        }
    }

    double at(std::size_t q, const double* s, double* g) {
        const std::size_t m = judged_.size(q), first = judged_.begin[q];
        const double top = *std::max_element(s, s + m), range = top - *std::min_element(s, s + m);
        const double* const a = judged_.weights.data() + first;
        double* const e = e_.data() + first;
        for (std::size_t i = 0; i < m; ++i) s_[first + i] = s[i], e[i] = math::exp(s[i] - top);
        narrow_[q] = range < 600;
        double value = 0;
        for_better(q, [&](std::size_t i, std::size_t below) {
            if (narrow_[q]) {
                g[i] -= a[i] * push_down(a[i], e[i], a + below, e + below, m - below, g + below);
            } else {
                for (std::size_t j = below; j < m; ++j) {
                    const double pull = a[i] * a[j] * wrong(s[i] - s[j]);
                    g[i] -= pull, g[j] += pull;
                }
            }
            if (plain_[q] && range < 80) {
                value += log_ratios(e[i], e + below, m - below);
            } else {
                for (std::size_t j = below; j < m; ++j) {
                    const double gap = s[j] - s[i];
                    value += a[i] * a[j] * (std::max(gap, 0.0) + math::log1p(math::exp(-std::abs(gap))));
                }
            }
        });
        return value;
    }

    void product(std::size_t q, const double* v, double* out) {
        const std::size_t m = judged_.size(q), first = judged_.begin[q];
        const double *const a = judged_.weights.data() + first, *const e = e_.data() + first,
                            *const s = s_.data() + first;
        for_better(q, [&](std::size_t i, std::size_t below) {
            if (narrow_[q]) {
                out[i] += a[i] * bend(a[i], e[i], v[i], a + below, e + below, v + below, m - below, out + below);
                return;
            }
            for (std::size_t j = below; j < m; ++j) {
                const double pull = a[i] * a[j] * wrong(s[i] - s[j]) * wrong(s[j] - s[i]) * (v[i] - v[j]);
                out[i] += pull, out[j] -= pull;
            }
        });
    }

    void diagonal(std::size_t q, double* out) {
        const std::size_t m = judged_.size(q), first = judged_.begin[q];
        const double *const a = judged_.weights.data() + first, *const e = e_.data() + first,
                            *const s = s_.data() + first;
        const std::vector<double> still(m);
        for_better(q, [&](std::size_t i, std::size_t below) {
            if (narrow_[q]) {  // i moves down by one, the others stay: out_j grows by the curvature of the pair
                out[i] -= a[i] * bend(a[i], e[i], -1.0, a + below, e + below, still.data(), m - below, out + below);
                return;
            }
            for (std::size_t j = below; j < m; ++j) {
                const double bent = a[i] * a[j] * wrong(s[i] - s[j]) * wrong(s[j] - s[i]);
                out[i] += bent, out[j] += bent;
            }
        });
    }

private:
    // The chance of the wrong order, given how far a pair is apart the right way.
    static double wrong(double margin) {
        return margin > 0 ? math::exp(-margin) / (1 + math::exp(-margin)) : 1 / (1 + math::exp(margin));
    }

    // Calls body(i, first document of a lower grade) for every document above the lowest grade.
    template <typename Body>
    void for_better(std::size_t q, const Body& body) const {
        const std::size_t* const ends = judged_.level_ends(q);
        for (std::size_t level = 0, i = 0; level + 1 < judged_.levels(q); ++level) {
            for (; i < ends[level]; ++i) body(i, ends[level]);
        }
    }

    const Judged& judged_;
    std::vector<double> s_, e_;
    std::vector<char> narrow_, plain_;  // scores close enough for exp(s); all weights 1
};

}  // namespace rankloop
