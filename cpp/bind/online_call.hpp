// What every online ranker is called with from Python: queries, weights, and where scores should go.
#pragma once

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "bind/sparse.hpp"
#include "linalg/pause.hpp"
#include "online/loop.hpp"

namespace rankloop {

// Weights are finite and from 0.
inline void check_weights(const std::optional<In<double, 1>>& weights, std::size_t n, const char* message) {
    if (!weights) return;
    check_size(*weights, n, message);
    for (std::size_t i = 0; i < n; ++i)
        check(weights->data()[i] >= 0 && std::isfinite(weights->data()[i]), "weights must be finite and at least 0");
}

// What every ranker is called with: the queries, the weights, and where scores should go.
struct OnlineCall {
    std::variant<Batch, SparseBatch> batch;
    LinearState state;
    Influence influence;
    float* scores;

    OnlineCall(const AnyRows& x, const In<double, 1>& y, const In<std::int64_t, 1>& offsets,
               const std::optional<In<double, 1>>& document_weights, const std::optional<In<double, 1>>& query_weights,
               const Out<double, 1>& w, const std::optional<Out<double, 1>>& sum, std::int64_t queries,
               const std::optional<Out<float, 1>>& out)
        : state{w.data(), w.size(), sum ? sum->data() : nullptr, queries, 0},
          scores(out ? out->data() : nullptr) {
        const auto place = [&](auto rows, std::size_t n, std::size_t d) {
            check_offsets(offsets, n);
            check(n < std::numeric_limits<std::uint32_t>::max(), "there are too many rows");
            check_size(w, d, "one weight a feature is needed");
            check_size(y, n, "one grade a row is needed");
            batch = BatchOf<decltype(rows)>{rows,
                                            y.data(),
                                            offsets.data(),
                                            offsets.size() - 1,
                                            document_weights ? document_weights->data() : nullptr,
                                            query_weights ? query_weights->data() : nullptr};
        };
        if (const auto* const sparse = std::get_if<SparseIn>(&x)) {
            const Csr rows = sparse->rows();
            place(rows, rows.n, rows.d);
        } else {
            const auto& dense = std::get<In<float, 2>>(x);
            place(dense.data(), dense.shape(0), dense.shape(1));
        }
        check(!sum || sum->size() == w.size(), "the sum of the weights does not fit them");
        check(!out || out->size() == y.size(), "one score a row is needed");
        check_weights(document_weights, y.size(), "one weight a document is needed");
        check_weights(query_weights, offsets.size() - 1, "one weight a query is needed");
        check(queries >= 0, "the number of queries must be at least 0");
        for (std::size_t i = 0; i < y.size(); ++i) check(std::isfinite(y.data()[i]), "grades must be finite");
    }

    // No update is more than `most` times as far as those before it were on average, kept in sums.
    OnlineCall& bounded(const Out<double, 1>& sums, double most) {
        influence = influence_of(sums, most, 0);
        return *this;
    }

    // The k-th pair of sums.
    static Influence influence_of(const Out<double, 1>& sums, double most, std::size_t k) {
        check(sums.size() >= 2 * (k + 1), "two sums are needed");
        return {sums.data() + 2 * k, most};
    }

    template <typename Step>
    std::int64_t run(Step step) {
        return run_on(std::get<Batch>(batch), step);
    }

    // Sparse rows may have a step of their own.
    template <typename Step, typename SparseStep>
    std::int64_t run(Step step, SparseStep sparse) {
        if (const auto* const dense = std::get_if<Batch>(&batch)) return run_on(*dense, step);
        return run_on(std::get<SparseBatch>(batch), sparse);
    }

    template <typename Step>
    std::int64_t run_any(Step step) {
        return std::visit([&](const auto& some) { return run_on(some, step); }, batch);
    }

    // For callers that have released the interpreter.
    template <typename Step>
    std::int64_t learn(Step& step) {
        std::visit(
            [&](const auto& some) {
                const Interruptible interruptible(pause_for_python);
                learn_queries(some, state, influence, scores, step, processors(), pause_for_python);
            },
            batch);
        return state.updates;
    }

    // How many threads may learn; the package sets it once, because asking takes microseconds.
    static std::atomic<unsigned>& processors() {
        static std::atomic<unsigned> count = std::thread::hardware_concurrency();
        return count;
    }

private:
    template <typename Some, typename Step>
    std::int64_t run_on(const Some& some, Step& step) {
        nb::gil_scoped_release release;
        const Interruptible interruptible(pause_for_python);
        learn_queries(some, state, influence, scores, step, processors(), pause_for_python);
        return state.updates;
    }
};

}  // namespace rankloop
