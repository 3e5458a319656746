// The one loop over queries of the linear online learners: score, hand the scores out, learn.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/rows.hpp"
#include "online/ahead.hpp"
#include "online/influence.hpp"
#include "online/query.hpp"

namespace rankloop {

// Learning from this query of the batch failed; the state is to be thrown away.
struct QueryError : std::runtime_error {
    std::size_t query;
    QueryError(std::size_t query, const std::string& message) : std::runtime_error(message), query(query) {}
};

// A step may say what it wants to know of a query before it sees the weights: `Step::Query`, filled
// by step.prepare(rows, query) and then handed to it. Where that takes long (as much as the step itself),
// Step::prepares_long says so.
template <typename Step>
concept Prepares = requires { typename Step::Query; };

template <typename Step>
struct PreparedBy { struct type {}; };
template <Prepares Step>
struct PreparedBy<Step> { using type = typename Step::Query; };

// Rows and grades of the queries of a batch, those of weight 0 not judged.
class BatchRows {
public:
    BatchRows(const Batch& batch, std::size_t d) : batch_(batch), d_(d) {
        if (!batch.document_weights) return;
        grades_.assign(batch.y, batch.y + batch.offsets[batch.queries]);
        for (std::size_t i = 0; i < grades_.size(); ++i) {
            if (batch.document_weights[i] == 0) grades_[i] = -1;
        }
    }

    std::size_t first(std::size_t q) const { return static_cast<std::size_t>(batch_.offsets[q]); }

    QueryRows operator[](std::size_t q) const {
        const std::size_t i = first(q);
        return {batch_.x + i * d_, (grades_.empty() ? batch_.y : grades_.data()) + i, batch_.document_weights ? batch_.document_weights + i : nullptr,
                batch_.query_weights ? batch_.query_weights[q] : 1.0, first(q + 1) - i, d_};
    }

private:
    const Batch& batch_;
    std::size_t d_;
    std::vector<double> grades_;
};

// For each query: scores before learning go to `scores` (where asked for), then the step learns from it and
// says whether it changed the weights; how far they move is bounded by `influence`. `pause` is called now and
// then, and may throw. Long preparations run ahead on a second thread where there is a processor for it.
template <typename Step, typename Pause>
void learn_queries(const Batch& batch, LinearState& state, Influence influence, float* scores, Step& step, unsigned threads, const Pause& pause) {
    constexpr std::size_t depth = 8, enough = 64, work_between_pauses = 1 << 24;
    const std::size_t d = state.d;
    const BatchRows rows(batch, d);
    const float* const end = batch.x + rows.first(batch.queries) * d;
    std::vector<typename PreparedBy<Step>::type> prepared(std::min(depth, batch.queries));
    std::vector<float> narrow(d), own;
    std::vector<double> before(influence.most > 0 ? d : 0);
    std::size_t work = 0;

    const auto prepare = [&](std::size_t q) {
        if constexpr (Prepares<Step>) step.prepare(rows[q], prepared[q % depth]);
    };
    const auto hand_out = [&](const QueryRows& query, float* to) {
        if (!state.sum || state.queries == 0) return std::copy(own.begin(), own.end(), to), void();
        std::vector<double> mean(d);  // the mean ranks; the last weights learn
        for (std::size_t j = 0; j < d; ++j) mean[j] = state.sum[j] / static_cast<double>(state.queries);
        to_float(mean.data(), d, narrow.data());
        score_rows(query.x, query.m, d, query.x + query.m * d, narrow.data(), to);
    };
    const auto take_step = [&](const QueryRows& query, std::size_t q) -> bool {
        try {
            if constexpr (Prepares<Step>) return step(query, prepared[q % depth], own.data(), state);
            else return step(query, own.data(), state);
        } catch (const std::runtime_error& error) {
            throw QueryError(q, error.what());
        }
    };
    const auto learn = [&](std::size_t q) {
        const QueryRows query = rows[q];
        own.resize(query.m);
        to_float(state.w, d, narrow.data());
        score_rows(query.x, query.m, d, end, narrow.data(), own.data());
        if (scores) hand_out(query, scores + rows.first(q));
        std::copy_n(state.w, before.size(), before.data());
        const bool moved = query.weight > 0 && take_step(query, q);
        if (moved) {
            if (!before.empty()) influence.bound(before.data(), state.w, d);
            if (!all_finite(state.w, d)) throw QueryError(q, "its update is not finite");
            ++state.updates;
        }
        ++state.queries;
        for (std::size_t j = 0; state.sum && j < d; ++j) state.sum[j] += state.w[j];
        if (state.sum && !all_finite(state.sum, d)) throw QueryError(q, "the sum of the weights is not finite");
        if ((work += query.m * (d + query.m)) > work_between_pauses) pause(), work = 0;
    };

    if constexpr (requires { requires Step::prepares_long; }) {
        const Running running;
        if (batch.queries >= enough && running.alone(threads)) {
            Ahead<depth, decltype(prepare)> ahead(batch.queries, prepare);
            for (std::size_t q = 0; q < batch.queries; ++q) {
                ahead.wait(q);
                learn(q);
                ahead.done(q);
            }
            return;
        }
    }
    for (std::size_t q = 0; q < batch.queries; ++q) prepare(q), learn(q);
}

}  // namespace rankloop
