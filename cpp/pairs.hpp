// Learners that go through the pairs of a query one by one: SOLAR-I, the pairwise perceptron and
// the committee perceptron. A pair is a document and one of a lower grade; better grades come
// first, then row order, on both sides.
#pragma once

#include "dense.hpp"
#include "online.hpp"

namespace rankloop {

// How far to move along delta = x_i - x_j, given its margin w.delta and squared length.
struct PassiveAggressive {  // SOLAR-I, eq. 6: squared hinge with slack 1/(2C)
    float slack;
    static constexpr float threshold = 1;
    bool violated(float margin) const { return margin < 1; }
    float step(float margin, float length) const { return (1 - margin) / (length + slack); }
};

struct Perceptron {  // a tie is a mistake
    bool violated(float margin) const { return margin <= 0; }
    float step(float, float) const { return 1; }
};

// The judged documents of one query, in levels order, moved so that the first is at 0: differences
// stay and products stay small.
struct OrderedQuery {
    Levels levels;
    std::vector<float> x, scores;
    std::size_t n = 0;

    bool gather(const float* rows, const double* y, std::size_t m, std::size_t d, const float* s) {
        levels.gather(y, m);
        n = levels.judged();
        if (levels.count() < 2) return false;
        x.resize(n * d), scores.resize(n);
        const float* const origin = rows + levels.documents[0] * d;
        for (std::size_t p = 0; p < n; ++p) {
            const float* const row = rows + levels.documents[p] * d;
            for (std::size_t j = 0; j < d; ++j) x[p * d + j] = row[j] - origin[j];
            scores[p] = s[levels.documents[p]];
        }
        return true;
    }

    // Calls body(p, q) for every pair, better document first.
    template <typename Body>
    void each_pair(const Body& body) const {
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            for (std::size_t p = levels.starts[level]; p < levels.starts[level + 1]; ++p) {
                for (std::size_t q = levels.starts[level + 1]; q < n; ++q) body(p, q);
            }
        }
    }
};

// Pair after pair with explicit weights: O(d) a pair. Best for short lists, or many more documents
// than features. Fills steps (one number a document, in levels order).
template <typename Rule>
RANKLOOP_CLONES void pairs_in_features(const OrderedQuery& query, std::size_t d, const Rule& rule, float* w, float* steps);

}  // namespace rankloop
