// Measures of one ranked query. Each returns NaN where the query has no relevant document (no
// judged pair, for pair accuracy): what that means for the mean is a convention, decided elsewhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <vector>

#include "linalg/math.hpp"

namespace rankloop {

enum class Kind { dcg, ndcg, ap, precision, recall, rr, err, rbp, success, pair_accuracy };
constexpr Kind last_kind = Kind::pair_accuracy;

struct Measure {
    Kind kind;
    std::size_t cutoff;  // ranks that count; SIZE_MAX for all
    double rel;          // a document is relevant where its grade is at least this
    double parameter;    // RBP: persistence; ERR: the highest grade
};

struct Rules {
    const double* discounts;  // by rank, from 0
    bool average_ties;        // tied documents share their ranks
    bool ap_by_cutoff;        // AP@k divides by min(k, relevant) rather than by relevant
};

// The documents of one query in rank order; those not retrieved come last, all tied.
struct Ranked {
    std::vector<double> gains, grades;
    std::vector<std::size_t> tie_end;  // one past the last rank that shares this rank's score
    std::size_t retrieved = 0;
    std::vector<double> scratch;

    std::size_t within(std::size_t cutoff) const { return std::min(cutoff, retrieved); }
};

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

inline double dcg(const Ranked& q, const Rules& rules, std::size_t k) {
    const std::size_t n = q.within(k);
    double sum = 0;
    if (!rules.average_ties) {
        for (std::size_t r = 0; r < n; ++r) sum += q.gains[r] * rules.discounts[r];
        return sum;
    }
    for (std::size_t first = 0, end; first < n; first = end) {
        end = q.tie_end[first];
        double gain = 0, discount = 0;
        for (std::size_t r = first; r < end; ++r) {
            gain += q.gains[r];
            if (r < k) discount += rules.discounts[r];
        }
        sum += gain * discount / static_cast<double>(end - first);
    }
    return sum;
}

// The k largest gains, best first, in q.scratch. Insertion wins for small k: grades repeat, so few
// documents displace another.
inline void best_gains(Ranked& q, std::size_t k) {
    auto& best = q.scratch;
    if (k > 32) {
        best = q.gains;
        std::sort(best.begin(), best.end(), std::greater<>());
        best.resize(std::min(k, best.size()));
        return;
    }
    best.assign(k, 0.0);
    for (const double gain : q.gains) {
        if (!(gain > best[k - 1])) continue;
        std::size_t r = k - 1;
        for (; r > 0 && best[r - 1] < gain; --r) best[r] = best[r - 1];
        best[r] = gain;
    }
    best.resize(std::min(k, q.gains.size()));
}

inline double ideal_dcg(Ranked& q, const double* discounts, std::size_t k) {
    best_gains(q, k);
    double sum = 0;
    for (std::size_t r = 0; r < q.scratch.size(); ++r) sum += q.scratch[r] * discounts[r];
    return sum;
}

inline std::size_t count_relevant(const std::vector<double>& grades, double rel) {
    return static_cast<std::size_t>(std::count_if(grades.begin(), grades.end(), [rel](double g) { return g >= rel; }));
}

inline double average_precision(const Ranked& q, const Rules& rules, const Measure& m, std::size_t relevant) {
    const std::size_t n = q.within(m.cutoff);
    std::size_t hits = 0;
    double sum = 0;
    for (std::size_t first = 0, end; first < n; first = end) {
        end = rules.average_ties ? q.tie_end[first] : first + 1;
        const std::size_t before = hits;
        for (std::size_t r = first; r < end; ++r) hits += q.grades[r] >= m.rel;
        sum += static_cast<double>(hits - before) * static_cast<double>(hits) / static_cast<double>(end);
    }
    return sum / static_cast<double>(rules.ap_by_cutoff ? std::min(relevant, m.cutoff) : relevant);
}

// Relevant documents expected among the first k, ties shared where the rules say so.
inline double hits(const Ranked& q, const Rules& rules, double rel, std::size_t k) {
    const std::size_t n = q.within(k);
    double sum = 0;
    for (std::size_t first = 0, end; first < n; first = end) {
        end = rules.average_ties ? q.tie_end[first] : first + 1;
        std::size_t relevant = 0;
        for (std::size_t r = first; r < end; ++r) relevant += q.grades[r] >= rel;
        sum += static_cast<double>(relevant * (std::min(end, n) - first)) / static_cast<double>(end - first);
    }
    return sum;
}

inline double reciprocal_rank(const Ranked& q, const Measure& m) {
    const std::size_t n = q.within(m.cutoff);
    for (std::size_t r = 0; r < n; ++r) {
        if (q.grades[r] >= m.rel) return 1.0 / static_cast<double>(r + 1);
    }
    return 0;
}

inline double expected_reciprocal_rank(const Ranked& q, const Measure& m) {
    const std::size_t n = q.within(m.cutoff);
    double sum = 0, not_yet = 1;
    for (std::size_t r = 0; r < n; ++r) {
        const double stops = (math::exp2(std::max(q.grades[r], 0.0)) - 1) / math::exp2(m.parameter);
        sum += not_yet * stops / static_cast<double>(r + 1);
        not_yet *= 1 - stops;
    }
    return sum;
}

inline double rank_biased_precision(const Ranked& q, const Measure& m) {
    const std::size_t n = q.within(m.cutoff);
    double sum = 0, weight = 1 - m.parameter;
    for (std::size_t r = 0; r < n; ++r, weight *= m.parameter) sum += q.grades[r] >= m.rel ? weight : 0;
    return sum;
}

// Share of judged pairs of unlike grade that are in order; a tie counts half. O(m log m).
inline double pair_accuracy(const Ranked& q) {
    std::vector<double> levels;
    std::copy_if(q.grades.begin(), q.grades.end(), std::back_inserter(levels), [](double g) { return g >= 0; });
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    std::vector<std::size_t> tree(levels.size() + 1);  // Fenwick tree: documents met so far, by grade
    const auto lower_graded = [&](double grade) {
        std::size_t n = 0;
        for (auto i = std::lower_bound(levels.begin(), levels.end(), grade) - levels.begin(); i > 0; i &= i - 1) {
            n += tree[static_cast<std::size_t>(i)];
        }
        return static_cast<double>(n);
    };
    double good = 0, met = 0, alike = 0;
    std::vector<double> count(levels.size());
    for (std::size_t end = q.grades.size(), first; end > 0; end = first) {  // worst rank first
        for (first = end - 1; first > 0 && q.tie_end[first - 1] == end;) --first;
        const auto half_of_lower = [&] {
            for (std::size_t r = first; r < end; ++r) {
                if (q.grades[r] >= 0) good += 0.5 * lower_graded(q.grades[r]);
            }
        };
        half_of_lower();  // those ranked below count in full, those tied once: by half
        for (std::size_t r = first; r < end; ++r) {
            if (q.grades[r] < 0) continue;
            const auto level =
                static_cast<std::size_t>(std::lower_bound(levels.begin(), levels.end(), q.grades[r]) - levels.begin());
            for (std::size_t i = level + 1; i < tree.size(); i += i & -i) ++tree[i];
            alike += count[level]++;
            ++met;
        }
        half_of_lower();
    }
    const double pairs = met * (met - 1) / 2 - alike;
    return pairs == 0 ? undefined : good / pairs;
}

inline double measure_query(Ranked& q, const Rules& rules, const Measure& m) {
    if (m.kind == Kind::pair_accuracy) return pair_accuracy(q);
    if (m.kind == Kind::dcg || m.kind == Kind::ndcg || m.kind == Kind::err) {
        if (std::none_of(q.gains.begin(), q.gains.end(), [](double g) { return g > 0; })) return undefined;
        if (m.kind == Kind::err) return expected_reciprocal_rank(q, m);
        const double found = dcg(q, rules, m.cutoff);
        return m.kind == Kind::dcg ? found : found / ideal_dcg(q, rules.discounts, m.cutoff);
    }
    const std::size_t relevant = count_relevant(q.grades, m.rel);
    if (relevant == 0) return undefined;
    const auto divisor = [&](std::size_t n) { return static_cast<double>(std::max<std::size_t>(n, 1)); };
    switch (m.kind) {
        case Kind::ap:
            return average_precision(q, rules, m, relevant);
        case Kind::precision:
            return hits(q, rules, m.rel, m.cutoff) / divisor(m.cutoff == SIZE_MAX ? q.retrieved : m.cutoff);
        case Kind::recall:
            return hits(q, rules, m.rel, m.cutoff) / divisor(relevant);
        case Kind::rr:
            return reciprocal_rank(q, m);
        case Kind::rbp:
            return rank_biased_precision(q, m);
        case Kind::success:
            return reciprocal_rank(q, m) > 0 ? 1 : 0;
        default:
            return undefined;
    }
}

}  // namespace rankloop
