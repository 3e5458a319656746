// What the online rankers are given, and what they keep.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linalg/csr.hpp"
#include "online/local_rows.hpp"

namespace rankloop {

// One query: m rows of d features with their grades (below 0: not judged).
template <typename X>
struct QueryOf {
    X x;
    const double* y;
    const double* weights;  // one a document, none of them 0 where it is judged; or nullptr
    double weight;          // of the query, above 0
    std::size_t m, d;

    double weight_of(std::size_t i) const { return weights ? weights[i] : 1.0; }
};

using QueryRows = QueryOf<const float*>;
using SparseQueryRows = QueryOf<const LocalRows*>;  // d: of its own columns

template <typename X>
struct BatchOf {
    X x;
    const double* y;
    const std::int64_t* offsets;
    std::size_t queries;
    const double* document_weights = nullptr;  // a document of weight 0 counts as not judged
    const double* query_weights = nullptr;     // nothing is learnt from a query of weight 0
};

using Batch = BatchOf<const float*>;
using SparseBatch = BatchOf<Csr>;

// What a linear ranker knows. Weights are kept in double, so that a stream of small steps is not
// lost, and scored in float.
struct LinearState {
    double* w;
    std::size_t d;
    double* sum;           // of the weights after each query, or nullptr
    std::int64_t queries;  // learnt from so far
    std::int64_t updates;  // of those, the queries that changed the weights
};

// What steps do with the rows of a query, dense or sparse.

inline void add_rows(const QueryRows& rows, const double* g, double* w) { add_rows(rows.x, rows.m, rows.d, g, w); }
inline void add_rows(const SparseQueryRows& rows, const double* g, double* w) { rows.x->add(rows.m, g, w); }

// x_i . w in double
inline double row_score(const QueryRows& rows, std::size_t i, const double* w) {
    double score;
    score_rows(rows.x + i * rows.d, 1, rows.d, w, &score);
    return score;
}
inline double row_score(const SparseQueryRows& rows, std::size_t i, const double* w) { return rows.x->score(i, w); }

// w += by x_i
inline void add_row(const QueryRows& rows, std::size_t i, double by, double* w) {
    add_rows(rows.x + i * rows.d, 1, rows.d, &by, w);
}
inline void add_row(const SparseQueryRows& rows, std::size_t i, double by, double* w) { rows.x->add_row(i, by, w); }

// w += by (x_i - x_k)
inline void add_difference(const QueryRows& rows, std::size_t i, std::size_t k, double by, double* w) {
    const float *a = rows.x + i * rows.d, *b = rows.x + k * rows.d;
    for (std::size_t j = 0; j < rows.d; ++j) w[j] += by * (static_cast<double>(a[j]) - b[j]);
}
inline void add_difference(const SparseQueryRows& rows, std::size_t i, std::size_t k, double by, double* w) {
    rows.x->each_difference(i, k, [=](std::size_t place, double delta) { w[place] += by * delta; });
}

}  // namespace rankloop
