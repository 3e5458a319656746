// Pairs in the order of the rows: each judged document in turn, against those of better grades in turn.
#pragma once

#include "online/committee.hpp"
#include "online/pairs.hpp"

namespace rankloop {

struct RowOrderedQuery : OrderedQuery {
    std::vector<std::uint32_t> by_row, level_of;  // places in levels order, by row; the level of each place

    bool gather(const QueryRows& rows, const float* s) {
        if (!OrderedQuery::gather(rows, s)) return false;
        by_row.resize(n), level_of.resize(n);
        for (std::uint32_t level = 0; level < levels.count(); ++level) {
            for (std::size_t p = levels.starts[level]; p < levels.starts[level + 1]; ++p) level_of[p] = level;
        }
        for (std::uint32_t p = 0; p < n; ++p) by_row[p] = p;
        std::sort(by_row.begin(), by_row.end(),
                  [&](auto a, auto b) { return levels.documents[a] < levels.documents[b]; });
        return true;
    }

    // Calls body(p, q) for every pair, better document first; the worse one is in the outer loop.
    template <typename Body>
    void each_pair(const Body& body) const {
        for (const std::uint32_t worse : by_row) {
            for (const std::uint32_t better : by_row) {
                if (level_of[better] < level_of[worse]) body(better, worse);
            }
        }
    }
};

RANKLOOP_CLONES inline bool run_features(const RowOrderedQuery& query, std::size_t d, const Mistake& rule, float* w,
                                         double* steps) {
    return pairs_in_features(query, d, rule, w, steps);
}

RANKLOOP_CLONES inline bool committee_pairs(const RowOrderedQuery& q, std::size_t d, const CommitteeRule& rule,
                                            float* w, double* steps) {
    return pairs_in_features(q, d, rule, w, steps);
}

// The pairwise perceptron in this order, always in the space of features.
class RowPairStep {
public:
    bool operator()(const QueryRows& rows, const float* s, LinearState& state) {
        if (!query_.gather(rows, s)) return false;
        steps_.assign(query_.n, 0.0), narrow_.resize(state.d);
        to_float(state.w, state.d, narrow_.data());
        const bool any = run_features(query_, state.d, Mistake{}, narrow_.data(), steps_.data());
        if (any) add_rows(query_.x.data(), query_.n, state.d, steps_.data(), state.w);
        return any;
    }

private:
    RowOrderedQuery query_;
    std::vector<double> steps_;
    std::vector<float> narrow_;
};

}  // namespace rankloop
