// Documents to positions: the exact assignment behind loss-augmented ranking.
//
// Maximise  sum_i s_i F(p_i) - g_i D(p_i)  over permutations p, where F decreases; D is anything.
//
// Documents of one gain differ only in s_i F(p_i), so by exchange the better scores stand higher: a
// solution is a grade for each position. Let x_g(p) count grade g among positions 0..p and T_g(x) be
// the sum of its x best scores. Summing by parts, the value is, up to a constant,
//
//     sum_{p < m-1} sum_g (F(p) - F(p+1)) T_g(x_g(p)) - g (D(p) - D(p+1)) x_g(p):
//
// concave in each x_g(p), as T_g is and F decreases. Each position sends one unit into the chain of
// one grade: a flow of convex cost, which is optimal iff its residual graph (K m nodes: along the
// chains either way, and at each position from the grade it has to every other) has no cycle of
// negative cost. So: re-divide the positions of two grades exactly (dynamic program over how many of
// one are used) until no pair gains, then cancel what cycles are left, until there are none. With
// two grades the program alone is exact. With many grades: shortest augmenting paths, O(m^3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "assignment/augment.hpp"
#include "linalg/clones.hpp"

namespace rankloop {

// One step of the program for two grades: `after[i]` from `before` for i in [first, end), whether
// the last position went to the first grade (`a[i - 1]`) rather than to the other (`b[i + shift]`).
RANKLOOP_CLONES inline void divide_step(const double* before, double* after, const double* a, const double* b,
                                        std::ptrdiff_t shift, double slope, double fixed_a, double fixed_b,
                                        std::ptrdiff_t first, std::ptrdiff_t end, std::uint8_t* took) {
    for (std::ptrdiff_t i = first; i < end; ++i) {
        const double take = before[i - 1] + a[i - 1] * slope - fixed_a,
                     leave = before[i] + b[i + shift] * slope - fixed_b;
        after[i] = take > leave ? take : leave;
        took[i] = take > leave;
    }
}

class Assignment {
public:
    // positions[i] of each document; up to `few` distinct gains are solved grade by grade. Measured,
    // that pays up to about m / 8 of them.
    static std::size_t usual(std::size_t m) { return 2 + m / 8; }

    // worked(n) is called after about n steps, and may throw.
    template <typename Worked>
    void solve(const double* s, const double* g, const double* f, const double* d, std::size_t m, std::size_t few,
               std::int64_t* positions, const Worked& worked) {
        if (m == 0) return;
        m_ = m, f_ = f, d_ = d;
        order_.resize(m);
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(), [&](auto i, auto j) {
            return g[i] != g[j] ? g[i] > g[j] : s[i] != s[j] ? s[i] > s[j] : i < j;
        });
        scores_.resize(m), starts_.clear(), gains_.clear();
        for (std::size_t k = 0; k < m; ++k) {
            scores_[k] = s[order_[k]];
            if (k == 0 || g[order_[k]] != gains_.back()) gains_.push_back(g[order_[k]]), starts_.push_back(k);
        }
        starts_.push_back(m);
        if (gains_.size() > few || !by_grades(worked)) return assign_by_paths(s, g, f, d, m, order_, positions, worked);
        std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
        for (std::size_t p = 0; p < m; ++p) positions[order_[next[grade_[p]]++]] = static_cast<std::int64_t>(p);
    }

private:
    static constexpr double infinity_ = std::numeric_limits<double>::infinity();
    std::size_t m_ = 0;
    const double *f_ = nullptr, *d_ = nullptr;
    std::vector<std::uint32_t> order_;  // documents by grade, best first, then by score
    std::vector<double> scores_;        // in that order
    std::vector<std::size_t> starts_;   // of each grade in it
    std::vector<double> gains_;         // of each grade
    std::vector<std::uint32_t> grade_;  // of each position: the solution
    double tolerance_ = 0;

    std::size_t size(std::size_t g) const { return starts_[g + 1] - starts_[g]; }

    template <typename Worked>
    bool by_grades(const Worked& worked) {
        const std::size_t grades = gains_.size();
        start();
        if (grades < 2) return true;
        for (int round = 0; round < 100; ++round) {
            bool better = false;
            for (std::size_t a = 0; a < grades; ++a) {
                for (std::size_t b = a + 1; b < grades; ++b)
                    better |= divide(a, b), worked((size(a) + size(b)) * std::min(size(a), size(b)));
            }
            if (grades == 2) return true;
            if (better) continue;
            const int found = cancel_cycles(worked);
            if (found == 0) return true;
            if (found < 0) return false;
        }
        return false;  // never seen: rounding that goes on for ever
    }

    // A first solution: by s - l g, where l is the mean exchange rate of the two slopes.
    void start() {
        const double across = f_[0] - f_[m_ - 1];
        const double rate = m_ > 1 ? (d_[0] - d_[m_ - 1]) / across : 0.0;
        std::vector<std::uint32_t> by_key(m_), owner(m_);
        std::vector<double> key(m_);
        double largest = 0;
        for (std::size_t g = 0; g < gains_.size(); ++g) {
            for (std::size_t k = starts_[g]; k < starts_[g + 1]; ++k) {
                owner[k] = static_cast<std::uint32_t>(g), key[k] = scores_[k] - rate * gains_[g];
                largest = std::max(largest, std::abs(scores_[k]) * across + std::abs(gains_[g] * (d_[0] - d_[m_ - 1])));
            }
        }
        tolerance_ = 1e-13 * largest;
        std::iota(by_key.begin(), by_key.end(), 0);
        std::sort(by_key.begin(), by_key.end(),
                  [&](auto i, auto j) { return key[i] != key[j] ? key[i] > key[j] : i < j; });
        grade_.resize(m_);
        for (std::size_t p = 0; p < m_; ++p) grade_[p] = owner[by_key[p]];
    }

    std::vector<std::uint32_t> places_;
    std::vector<double> before_, after_, reversed_;
    std::vector<std::uint8_t> took_;

    // Divide the positions of grades a and b between them anew; whether that is better.
    bool divide(std::size_t a, std::size_t b) {
        if (size(a) > size(b)) std::swap(a, b);
        const std::size_t na = size(a), nb = size(b), n = na + nb, width = na + 1;
        const double *sa = scores_.data() + starts_[a], *sb = scores_.data() + starts_[b];
        places_.clear();
        double now = 0;
        std::size_t used_a = 0, used_b = 0;
        for (std::size_t p = 0; p < m_; ++p) {
            if (grade_[p] != a && grade_[p] != b) continue;
            const bool mine = grade_[p] == a;
            now += mine ? sa[used_a++] * f_[p] - gains_[a] * d_[p] : sb[used_b++] * f_[p] - gains_[b] * d_[p];
            places_.push_back(static_cast<std::uint32_t>(p));
        }
        before_.assign(width, -infinity_), after_.assign(width, -infinity_), took_.resize(n * width);
        reversed_.assign(sb, sb + nb);
        std::reverse(reversed_.begin(), reversed_.end());
        before_[0] = 0;
        for (std::size_t s = 0; s < n; ++s) {
            const double slope = f_[places_[s]], fixed_a = gains_[a] * d_[places_[s]],
                         fixed_b = gains_[b] * d_[places_[s]];
            std::uint8_t* const took = took_.data() + s * width;
            if (s < nb) after_[0] = before_[0] + sb[s] * slope - fixed_b, took[0] = 0;
            if (s < na) after_[s + 1] = before_[s] + sa[s] * slope - fixed_a, took[s + 1] = 1;
            // with i of a among s + 1 positions, the last of b is number s - i
            const auto shift = static_cast<std::ptrdiff_t>(nb) - 1 - static_cast<std::ptrdiff_t>(s);
            const std::ptrdiff_t first = std::max<std::ptrdiff_t>(1, -shift),
                                 end = static_cast<std::ptrdiff_t>(std::min(s, na)) + 1;
            divide_step(before_.data(), after_.data(), sa, reversed_.data(), shift, slope, fixed_a, fixed_b, first, end,
                        took);
            std::swap(before_, after_);
        }
        if (!(before_[na] > now + tolerance_)) return false;
        for (std::size_t s = n, i = na; s-- > 0;) {
            const bool mine = took_[s * width + i];
            grade_[places_[s]] = static_cast<std::uint32_t>(mine ? a : b);
            i -= mine;
        }
        return true;
    }

    std::vector<double> distance_;
    std::vector<std::int32_t> parent_, mark_;
    std::vector<std::size_t> used_;

    // Cancel cycles of negative cost: how many, 0 where there are none, -1 where it cannot be told.
    template <typename Worked>
    int cancel_cycles(const Worked& worked) {
        const std::size_t grades = gains_.size(), nodes = m_ * grades;
        used_.assign(nodes, 0);  // x_g(p)
        for (std::size_t p = 0; p < m_; ++p) {
            for (std::size_t g = 0; g < grades; ++g)
                used_[p * grades + g] = (p ? used_[(p - 1) * grades + g] : 0) + (grade_[p] == g);
        }
        distance_.assign(nodes, 0.0), parent_.assign(nodes, -1);
        bool moved = true;
        const auto relax = [&](std::size_t from, std::size_t to, double cost) {
            if (distance_[from] + cost < distance_[to] - tolerance_) {
                distance_[to] = distance_[from] + cost, parent_[to] = static_cast<std::int32_t>(from), moved = true;
            }
        };
        const auto across = [&](std::size_t p) {
            for (std::size_t g = 0; g < grades; ++g) relax(p * grades + grade_[p], p * grades + g, 0.0);
        };
        for (std::size_t sweep = 0; sweep <= nodes; ++sweep) {
            moved = false;
            for (std::size_t p = 0; p + 1 < m_; ++p) {
                across(p);
                const double df = f_[p] - f_[p + 1], dd = d_[p] - d_[p + 1];
                for (std::size_t g = 0; g < grades; ++g) {
                    const std::size_t node = p * grades + g, x = used_[node];
                    if (x < size(g)) relax(node, node + grades, -df * scores_[starts_[g] + x] + dd * gains_[g]);
                }
            }
            for (std::size_t p = m_ - 1; p > 0; --p) {
                across(p);
                const double df = f_[p - 1] - f_[p], dd = d_[p - 1] - d_[p];
                for (std::size_t g = 0; g < grades; ++g) {
                    const std::size_t node = p * grades + g, x = used_[node - grades];
                    if (x > 0) relax(node, node - grades, df * scores_[starts_[g] + x - 1] - dd * gains_[g]);
                }
            }
            worked(10 * nodes);
            if (!moved) return 0;
            if (const int found = follow_parents()) return found;
        }
        return -1;
    }

    // Apply every cycle among the parents (they share no node); how many.
    int follow_parents() {
        const std::size_t grades = gains_.size(), nodes = parent_.size();
        mark_.assign(nodes, 0);
        int found = 0;
        for (std::size_t first = 0; first < nodes; ++first) {
            const auto walk = static_cast<std::int32_t>(first + 1);
            std::size_t node = first;
            while (mark_[node] == 0 && parent_[node] >= 0)
                mark_[node] = walk, node = static_cast<std::size_t>(parent_[node]);
            if (mark_[node] != walk) continue;
            const std::size_t stop = node;
            do {
                const auto from = static_cast<std::size_t>(parent_[node]);
                if (from / grades == node / grades) grade_[node / grades] = static_cast<std::uint32_t>(node % grades);
                node = from;
            } while (node != stop);
            ++found;
        }
        return found;
    }
};

}  // namespace rankloop
