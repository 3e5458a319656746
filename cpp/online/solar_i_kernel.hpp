// SOLAR-I on one query where only the products of its documents are known: with a kernel.
#pragma once

#include "online/pairs.hpp"

namespace rankloop {

// Adds to steps, one number a document; `gram` (m x m) holds the products of documents.
inline bool solar_steps(const float* gram, const float* scores, const QueryRows& rows, float slack, double* steps) {
    const std::size_t m = rows.m;
    OrderedQuery query;
    Levels& levels = query.levels;
    levels.gather(rows.y, m);
    if (levels.count() < 2) return false;
    query.n = levels.judged();
    query.gather_weights(rows);
    const std::size_t n = query.n, stride = column_stride(n);
    Lines ordered(stride * stride, 0.0f), s(stride, 0.0f), scratch(2 * stride), moves(stride, 0.0f);
    for (std::size_t p = 0; p < n; ++p) {
        const float* const row = gram + levels.documents[p] * m;
        for (std::size_t q = 0; q < n; ++q) ordered[p * stride + q] = row[levels.documents[q]];
        s[p] = scores[levels.documents[p]];
    }
    const bool any = run_gram(levels,
                              {ordered.data(), n, stride, query.weights.data(), s.data(), moves.data(), scratch.data(),
                               scratch.data() + stride},
                              PassiveAggressive{slack});
    for (std::size_t p = 0; p < n; ++p) steps[levels.documents[p]] += moves[p];
    return any;
}

}  // namespace rankloop
