// Pair after pair where only the products of documents are known: the learners with kernels.
#pragma once

#include "pairs_gram.hpp"

namespace rankloop {

// A step of rate (target - margin) / (length + slack) along x_i - x_j, where length is its squared
// length. SOLAR-I has rate and target 1; documents that are the same are left alone.
struct Relaxation {
    float target, rate, slack;
    float scale(float length) const { return length > 0 ? rate / (length + slack) : 0; }
    __attribute__((always_inline)) Float4 steps(Float4 u, Float4 scale) const { return (u > 0 ? u : Float4{}) * scale; }
};

RANKLOOP_CLONES inline bool relax_pairs(const Levels& levels, const float* gram, std::size_t stride, const Relaxation& rule, float* s,
                                        float* scratch, float* steps) {
    return pairs_in_gram(levels, gram, stride, rule, s, scratch, steps);
}

// Adds to steps, one number a document; `gram` (m x m) holds the products of documents.
inline bool pair_steps(const float* gram, const float* scores, const double* y, std::size_t m, const Relaxation& rule, double* steps) {
    Levels levels;
    levels.gather(y, m);
    if (levels.count() < 2) return false;
    const std::size_t n = levels.judged(), stride = column_stride(n);
    Lines ordered(stride * stride, 0.0f), s(stride, 0.0f), scratch(2 * stride), moves(stride, 0.0f);
    for (std::size_t p = 0; p < n; ++p) {
        const float* const row = gram + levels.documents[p] * m;
        for (std::size_t q = 0; q < n; ++q) ordered[p * stride + q] = row[levels.documents[q]];
        s[p] = scores[levels.documents[p]];
    }
    const bool any = relax_pairs(levels, ordered.data(), stride, rule, s.data(), scratch.data(), moves.data());
    for (std::size_t p = 0; p < n; ++p) steps[levels.documents[p]] += moves[p];
    return any;
}

}  // namespace rankloop
