// Where the loop over queries runs: over all features, or, for sparse rows, over the columns of one query at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "online/influence.hpp"
#include "online/query.hpp"

namespace rankloop {

// Grades and weights of the queries of a batch, documents of weight 0 not judged.
template <typename X>
class JudgedQueries {
public:
    explicit JudgedQueries(const BatchOf<X>& batch) : batch_(batch) {
        if (!batch.document_weights) return;
        grades_.assign(batch.y, batch.y + batch.offsets[batch.queries]);
        for (std::size_t i = 0; i < grades_.size(); ++i) {
            if (batch.document_weights[i] == 0) grades_[i] = -1;
        }
    }

    std::size_t first(std::size_t q) const { return static_cast<std::size_t>(batch_.offsets[q]); }
    std::size_t size(std::size_t q) const { return first(q + 1) - first(q); }

    template <typename Rows>
    QueryOf<Rows> with(std::size_t q, Rows x, std::size_t d) const {
        const std::size_t i = first(q);
        return {x,
                (grades_.empty() ? batch_.y : grades_.data()) + i,
                batch_.document_weights ? batch_.document_weights + i : nullptr,
                batch_.query_weights ? batch_.query_weights[q] : 1.0,
                size(q),
                d};
    }

private:
    const BatchOf<X>& batch_;
    std::vector<double> grades_;
};

// A space has, for each query: what it finds out ahead (`Ahead`, filled by `prepare`), its rows, the weights that they
// meet (`here`, between `enter` and `leave`), their scores, and how far weights have moved.
class DenseSpace {
public:
    using Query = QueryRows;
    struct Ahead {};
    static constexpr bool prepares_long = false;

    DenseSpace(const Batch& batch, LinearState& state)
        : batch_(batch),
          queries_(batch),
          state_(state),
          end_(batch.x + queries_.first(batch.queries) * state.d) {}

    std::size_t first(std::size_t q) const { return queries_.first(q); }
    void prepare(std::size_t, Ahead&) {}
    Query rows(std::size_t q, const Ahead&) const { return queries_.with(q, batch_.x + first(q) * state_.d, state_.d); }

    LinearState& enter(const Ahead&) { return state_; }
    void leave(const Ahead&) {}

    void score(const Query& rows, const float* w, float* scores) const {
        score_rows(rows.x, rows.m, rows.d, end_, w, scores);
    }
    double distance(const Ahead&, const double* a, const double* b) const { return squared_distance(a, b, state_.d); }

private:
    const Batch& batch_;
    JudgedQueries<const float*> queries_;
    LinearState& state_;
    const float* end_;
};

// The weights at a query's columns are copied here, learnt from and put back.
class SparseSpace {
public:
    using Query = SparseQueryRows;
    using Ahead = LocalRows;
    static constexpr bool prepares_long = true;

    SparseSpace(const SparseBatch& batch, LinearState& state)
        : batch_(batch),
          queries_(batch),
          state_(state),
          finder_(state.d) {}

    std::size_t first(std::size_t q) const { return queries_.first(q); }
    void prepare(std::size_t q, Ahead& ahead) { finder_.find(batch_.x.from(first(q), queries_.size(q)), ahead); }
    Query rows(std::size_t q, const Ahead& ahead) const { return queries_.with(q, &ahead, ahead.d()); }

    LinearState& enter(const Ahead& ahead) {
        const std::size_t d = ahead.d();
        w_.resize(d), sum_.resize(state_.sum ? d : 0);
        for (std::size_t c = 0; c < d; ++c) w_[c] = state_.w[ahead.columns[c]];
        for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] = state_.sum[ahead.columns[c]];
        return here_ = {w_.data(), d, state_.sum ? sum_.data() : nullptr, state_.queries, state_.updates};
    }

    void leave(const Ahead& ahead) {
        for (std::size_t c = 0; c < w_.size(); ++c) state_.w[ahead.columns[c]] = w_[c];
    }

    void score(const Query& rows, const float* w, float* scores) const { score_rows(*rows.x, rows.m, w, scores); }
    double distance(const Ahead& ahead, const double* a, const double* b) const {
        return squared_distance(ahead, a, b);
    }

private:
    const SparseBatch& batch_;
    JudgedQueries<Csr> queries_;
    LinearState& state_;
    LinearState here_{};
    ColumnFinder finder_;
    std::vector<double> w_, sum_;
};

}  // namespace rankloop
