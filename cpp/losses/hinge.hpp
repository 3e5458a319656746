// The squared hinge over all pairs, without listing pairs: sum of a_i a_j max(0, 1 - s_i + s_j)^2.
//
// Grades are halved again and again; a pair belongs to the cut that parts its two grades. There, both
// sides in order of score, the pairs that cost something of a document are a stretch of the other
// side: one sweep with running sums. O(m log m) a query for the sort, O(m log grades) for a product.
#pragma once

#include <cmath>
#include <cstdint>

#include "losses/judged.hpp"

namespace rankloop {

class SquaredHinge {
public:
    explicit SquaredHinge(const Judged& judged) : judged_(judged), s_(judged.rows.size()), tree_{0} {
        for (std::size_t q = 0; q < judged.queries(); ++q) {
            std::size_t depth = 0;
            while ((std::size_t{1} << depth) < judged.levels(q)) ++depth;
            tree_.push_back(tree_.back() + depth * judged.size(q));
        }
        orders_.resize(tree_.back());
    }

    // Keeps the scores s of query q, adds the gradient to g, returns the value.
    double at(std::size_t q, const double* s, double* g) {
        const std::size_t m = judged_.size(q);
        double* const own = s_.data() + judged_.begin[q];
        const double top = *std::max_element(s, s + m), low = *std::min_element(s, s + m);
        for (std::size_t i = 0; i < m; ++i) own[i] = s[i] - (top / 2 + low / 2);  // sums of squares stay small
        for (std::size_t i = 0; i < m; ++i)
            own[i] = std::isnan(own[i]) ? 0 : own[i];  // of infinite ones: NaN has no order
        double value = 0;
        cuts(q, [&](const Side& high, const Side& low_side) { value += cost(q, high, low_side, g); }, true);
        return std::max(value, 0.0);
    }

    // out += H v at the scores kept; where a hinge bends, H is that of the pairs that cost something.
    void product(std::size_t q, const double* v, double* out) {
        const double* const a = judged_.weights.data() + judged_.begin[q];
        cuts(
            q,
            [&](const Side& high, const Side& low) {
                double weight = 0, moved = 0;
                sweep_down(
                    q, high, low, [&](std::size_t j) { weight += a[j], moved += a[j] * v[j]; },
                    [&](std::size_t i) { out[i] += 2 * a[i] * (v[i] * weight - moved); });
                weight = moved = 0;
                sweep_up(
                    q, high, low, [&](std::size_t i) { weight += a[i], moved += a[i] * v[i]; },
                    [&](std::size_t j) { out[j] += 2 * a[j] * (v[j] * weight - moved); });
            },
            false);
    }

    // out += diagonal of H
    void diagonal(std::size_t q, double* out) {
        const double* const a = judged_.weights.data() + judged_.begin[q];
        cuts(
            q,
            [&](const Side& high, const Side& low) {
                double weight = 0;
                sweep_down(
                    q, high, low, [&](std::size_t j) { weight += a[j]; },
                    [&](std::size_t i) { out[i] += 2 * a[i] * weight; });
                weight = 0;
                sweep_up(
                    q, high, low, [&](std::size_t i) { weight += a[i]; },
                    [&](std::size_t j) { out[j] += 2 * a[j] * weight; });
            },
            false);
    }

private:
    struct Side {
        std::int32_t* documents;  // highest score first, once sorted
        std::size_t size;
    };

    // Meets the better documents, best score first, after all worse ones with s_j > s_i - 1.
    template <typename Take, typename Meet>
    void sweep_down(std::size_t q, const Side& high, const Side& low, const Take& take, const Meet& meet) const {
        const double* const s = s_.data() + judged_.begin[q];
        for (std::size_t r = 0, k = 0; r < high.size; ++r) {
            const auto i = static_cast<std::size_t>(high.documents[r]);
            for (; k < low.size && s[low.documents[k]] > s[i] - 1; ++k)
                take(static_cast<std::size_t>(low.documents[k]));
            meet(i);
        }
    }

    // Meets the worse documents, worst score first, after all better ones with s_j > s_i - 1.
    template <typename Take, typename Meet>
    void sweep_up(std::size_t q, const Side& high, const Side& low, const Take& take, const Meet& meet) const {
        const double* const s = s_.data() + judged_.begin[q];
        for (std::size_t k = low.size, r = high.size; k-- > 0;) {
            const auto j = static_cast<std::size_t>(low.documents[k]);
            for (; r > 0 && s[j] > s[high.documents[r - 1]] - 1; --r)
                take(static_cast<std::size_t>(high.documents[r - 1]));
            meet(j);
        }
    }

    double cost(std::size_t q, const Side& high, const Side& low, double* g) const {
        const double* const a = judged_.weights.data() + judged_.begin[q];
        const double* const s = s_.data() + judged_.begin[q];
        double weight = 0, sum = 0, squares = 0, value = 0;
        sweep_down(
            q, high, low, [&](std::size_t j) { weight += a[j], sum += a[j] * s[j], squares += a[j] * s[j] * s[j]; },
            [&](std::size_t i) {
                const double gap = 1 - s[i];
                g[i] -= 2 * a[i] * (gap * weight + sum);
                value += a[i] * (gap * gap * weight + 2 * gap * sum + squares);
            });
        weight = sum = 0;
        sweep_up(
            q, high, low, [&](std::size_t i) { weight += a[i], sum += a[i] * s[i]; },
            [&](std::size_t j) { g[j] += 2 * a[j] * ((1 + s[j]) * weight - sum); });
        return value;
    }

    // Calls visit(better side, worse side) for every cut; `sort` puts both sides in order first.
    template <typename Visit>
    void cuts(std::size_t q, const Visit& visit, bool sort) {
        if (judged_.levels(q) > 1) cut(q, 0, judged_.levels(q), 0, visit, sort);
    }

    template <typename Visit>
    void cut(std::size_t q, std::size_t from, std::size_t to, std::size_t depth, const Visit& visit, bool sort) {
        const std::size_t middle = from + (to - from) / 2;
        for (const auto& [first, last] : {std::pair{from, middle}, std::pair{middle, to}}) {
            if (last - first > 1) cut(q, first, last, depth + 1, visit, sort);
            if (sort) put_in_order(q, first, last, depth);
        }
        visit(side(q, from, middle, depth), side(q, middle, to, depth));
    }

    Side side(std::size_t q, std::size_t from, std::size_t to, std::size_t depth) {
        const std::size_t* const ends = judged_.level_ends(q);
        const std::size_t first = from ? ends[from - 1] : 0;
        return {orders_.data() + tree_[q] + depth * judged_.size(q) + first, ends[to - 1] - first};
    }

    // One grade is sorted; several are merged from their two halves, which are in order.
    void put_in_order(std::size_t q, std::size_t from, std::size_t to, std::size_t depth) {
        const double* const s = s_.data() + judged_.begin[q];
        const auto higher = [s](std::int32_t i, std::int32_t j) { return s[i] > s[j] || (s[i] == s[j] && i < j); };
        const Side all = side(q, from, to, depth);
        if (to - from == 1) {
            const std::size_t first = from ? judged_.level_ends(q)[from - 1] : 0;
            for (std::size_t k = 0; k < all.size; ++k) all.documents[k] = static_cast<std::int32_t>(first + k);
            std::sort(all.documents, all.documents + all.size, higher);
            return;
        }
        const std::size_t middle = from + (to - from) / 2;
        const Side one = side(q, from, middle, depth + 1), other = side(q, middle, to, depth + 1);
        std::merge(one.documents, one.documents + one.size, other.documents, other.documents + other.size,
                   all.documents, higher);
    }

    const Judged& judged_;
    std::vector<double> s_;
    std::vector<std::size_t> tree_;     // where each query's orders start
    std::vector<std::int32_t> orders_;  // documents of each side of each cut, depth after depth
};

}  // namespace rankloop
