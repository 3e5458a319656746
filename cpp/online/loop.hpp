// The one loop over queries of the linear online rankers: score, hand the scores out, learn.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/rows.hpp"
#include "online/ahead.hpp"
#include "online/spaces.hpp"

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
struct PreparedBy {
    struct type {};
};
template <Prepares Step>
struct PreparedBy<Step> {
    using type = typename Step::Query;
};

// For each query: scores before learning go to `scores` (where asked for), then the step learns from it and
// says whether it changed the weights; how far they move is bounded by `influence`. `pause` is called now and
// then, and may throw. Long preparations run ahead on a second thread where there is a processor for it.
template <typename Space, typename Step, typename Pause>
void learn_in(Space space, std::size_t queries, LinearState& state, Influence influence, float* scores, Step& step,
              unsigned threads, const Pause& pause) {
    constexpr std::size_t depth = 8, enough = 64, work_between_pauses = 1 << 24;
    struct Prepared {
        typename Space::Ahead rows;
        typename PreparedBy<Step>::type query;
    };
    std::vector<Prepared> prepared(std::min(depth, queries));
    std::vector<float> narrow, own;
    std::vector<double> before;
    std::size_t work = 0;

    const auto prepare = [&](std::size_t q) {
        Prepared& ahead = prepared[q % depth];
        space.prepare(q, ahead.rows);
        if constexpr (Prepares<Step>) step.prepare(space.rows(q, ahead.rows), ahead.query);
    };
    const auto hand_out = [&](const typename Space::Query& query, const LinearState& here, float* to) {
        if (!here.sum || here.queries == 0) return std::copy(own.begin(), own.end(), to), void();
        std::vector<double> mean(here.d);  // the mean ranks; the last weights learn
        for (std::size_t j = 0; j < here.d; ++j) mean[j] = here.sum[j] / static_cast<double>(here.queries);
        to_float(mean.data(), here.d, narrow.data());
        space.score(query, narrow.data(), to);
    };
    const auto take_step = [&](const typename Space::Query& query, std::size_t q, LinearState& here) -> bool {
        try {
            if constexpr (Prepares<Step>)
                return step(query, prepared[q % depth].query, own.data(), here);
            else
                return step(query, own.data(), here);
        } catch (const std::runtime_error& error) {
            throw QueryError(q, error.what());
        }
    };
    const auto learn = [&](std::size_t q) {
        const auto& ahead = prepared[q % depth].rows;
        const typename Space::Query query = space.rows(q, ahead);
        LinearState& here = space.enter(ahead);
        const std::size_t d = here.d;
        own.resize(query.m), narrow.resize(d);
        to_float(here.w, d, narrow.data());
        space.score(query, narrow.data(), own.data());
        if (scores) hand_out(query, here, scores + space.first(q));
        if (influence.most > 0) before.assign(here.w, here.w + d);
        const bool moved = query.weight > 0 && take_step(query, q, here);
        if (moved) {
            if (influence.most > 0)
                influence.bound(std::sqrt(space.distance(ahead, here.w, before.data())), before.data(), here.w, d);
            if (!all_finite(here.w, d)) throw QueryError(q, "its update is not finite");
            ++state.updates;
        }
        if (moved) space.leave(ahead);
        ++state.queries;
        for (std::size_t j = 0; state.sum && j < state.d; ++j) state.sum[j] += state.w[j];
        if (state.sum && !all_finite(state.sum, state.d)) throw QueryError(q, "the sum of the weights is not finite");
        if ((work += query.m * (d + query.m)) > work_between_pauses) pause(), work = 0;
    };
    if constexpr (Space::prepares_long || requires { requires Step::prepares_long; }) {
        const Running running;
        if (queries >= enough && running.alone(threads)) {
            Ahead<depth, decltype(prepare)> ahead(queries, prepare);
            for (std::size_t q = 0; q < queries; ++q) {
                ahead.wait(q);
                learn(q);
                ahead.done(q);
            }
            return;
        }
    }
    for (std::size_t q = 0; q < queries; ++q) prepare(q), learn(q);
}

template <typename Step, typename Pause>
void learn_queries(const Batch& batch, LinearState& state, Influence influence, float* scores, Step& step,
                   unsigned threads, const Pause& pause) {
    learn_in(DenseSpace(batch, state), batch.queries, state, influence, scores, step, threads, pause);
}

template <typename Step, typename Pause>
void learn_queries(const SparseBatch& batch, LinearState& state, Influence influence, float* scores, Step& step,
                   unsigned threads, const Pause& pause) {
    learn_in(SparseSpace(batch, state), batch.queries, state, influence, scores, step, threads, pause);
}

}  // namespace rankloop
