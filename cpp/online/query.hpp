// What the online learners are given, and what they keep.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rankloop {

// One query: m rows of d features with their grades (below 0: not judged).
struct QueryRows {
    const float* x;
    const double* y;
    const double* weights;  // one a document, none of them 0 where it is judged; or nullptr
    double weight;          // of the query, above 0
    std::size_t m, d;

    double weight_of(std::size_t i) const { return weights ? weights[i] : 1.0; }
};

struct Batch {
    const float* x;
    const double* y;
    const std::int64_t* offsets;
    std::size_t queries;
    const double* document_weights = nullptr;  // a document of weight 0 counts as not judged
    const double* query_weights = nullptr;     // nothing is learnt from a query of weight 0
};

// What a linear learner knows. Weights are kept in double, so that a stream of small steps is not
// lost, and scored in float.
struct LinearState {
    double* w;
    std::size_t d;
    double* sum;           // of the weights after each query, or nullptr
    std::int64_t queries;  // learnt from so far
    std::int64_t updates;  // of those, the queries that changed the weights
};

}  // namespace rankloop
