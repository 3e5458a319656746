// Binding of the weak rankers of boosting, and of the losses over pairs that they are chosen by.
#include "bind/arrays.hpp"

#include <vector>

#include "linalg/parallel.hpp"
#include "losses/pair_losses.hpp"
#include "stumps/stumps.hpp"

namespace rankloop {

// Queries whose documents stand in ascending order of grade.
struct GradedQueries {
    const double *scores, *y, *weights;
    const std::int64_t* offsets;
    std::size_t count;

    GradedQueries(const In<double, 1>& s, const In<double, 1>& grades, const In<std::int64_t, 1>& o,
                  const In<double, 1>& w)
        : scores(s.data()),
          y(grades.data()),
          weights(w.data()),
          offsets(o.data()),
          count(o.size() - 1) {
        check(s.size() == grades.size() && w.size() == grades.size(),
              "one score, grade and weight a document are needed");
        check_offsets(o, grades.size());
        check_no_nan(grades, "grades must not be NaN");
    }

    // Calls body(query, its first document, its number of documents, scratch).
    template <typename Scratch, typename Body>
    void run(unsigned threads, const Body& body) const {
        nb::gil_scoped_release release;
        parallel_parts(count, 64, threads, [&](std::size_t begin, std::size_t end) {
            Scratch scratch;
            for (std::size_t q = begin; q < end; ++q) {
                const auto first = static_cast<std::size_t>(offsets[q]);
                body(q, first, static_cast<std::size_t>(offsets[q + 1]) - first, scratch);
            }
        });
    }
};

void bind_stumps(nb::module_& m) {
    m.def(
        "bin_sums",
        [](In<std::uint8_t, 2> bins, In<double, 1> values, Out<double, 2> sums, unsigned threads) {
            check(values.size() == bins.shape(1) && sums.shape(0) == bins.shape(0) && sums.shape(1) <= 256,
                  "bins, values and sums do not fit");
            nb::gil_scoped_release release;
            bin_sums(bins.data(), values.data(), bins.shape(1), bins.shape(0), sums.shape(1), threads, sums.data());
        },
        "bins"_a, "values"_a, "sums"_a, "threads"_a);

    m.def(
        "add_stumps",
        [](In<float, 2> x, In<std::int64_t, 1> features, In<float, 1> thresholds, In<double, 1> alphas,
           Out<double, 1> scores, unsigned threads) {
            check(features.size() == alphas.size() && thresholds.size() == alphas.size(),
                  "features, thresholds and alphas differ in length");
            check_size(scores, x.shape(0), "one score a row is needed");
            for (std::size_t t = 0; t < features.size(); ++t) {
                check(features.data()[t] >= 0 && features.data()[t] < static_cast<std::int64_t>(x.shape(1)),
                      "a weak ranker looks at a feature that there is not");
            }
            nb::gil_scoped_release release;
            add_stumps(x.data(), x.shape(0), x.shape(1),
                       {features.data(), thresholds.data(), alphas.data(), alphas.size()}, threads, scores.data());
        },
        "x"_a, "features"_a, "thresholds"_a, "alphas"_a, "scores"_a, "threads"_a);

    m.def(
        "exponential_pairs",
        [](In<double, 1> scores, In<double, 1> y, In<std::int64_t, 1> offsets, In<double, 1> log_weights,
           Out<double, 1> above, Out<double, 1> below, unsigned threads) {
            check(above.size() == y.size() && below.size() == y.size(), "one place a document is needed");
            const GradedQueries queries(scores, y, offsets, log_weights);
            queries.run<LogSum>(threads, [&](std::size_t, std::size_t i, std::size_t n, LogSum&) {
                exponential_query(queries.scores + i, queries.y + i, queries.weights + i, n, above.data() + i,
                                  below.data() + i);
            });
        },
        "scores"_a, "y"_a, "offsets"_a, "log_weights"_a, "above"_a, "below"_a, "threads"_a);

    m.def(
        "fidelity_pairs",
        [](In<double, 1> scores, In<double, 1> y, In<std::int64_t, 1> offsets, In<double, 1> weights,
           In<double, 1> query_weights, Out<double, 1> potentials, unsigned threads) {
            const GradedQueries queries(scores, y, offsets, weights);
            check(potentials.size() == y.size() && query_weights.size() == queries.count,
                  "potentials or query weights do not fit");
            std::vector<double> losses(queries.count);
            queries.run<FidelityPairs>(threads, [&](std::size_t q, std::size_t i, std::size_t n, FidelityPairs& pairs) {
                losses[q] = fidelity_query(pairs, queries.scores + i, queries.y + i, queries.weights + i, n,
                                           query_weights.data()[q], potentials.data() + i);
            });
            double sum = 0;
            for (const double loss : losses) sum += loss;
            return sum;
        },
        "scores"_a, "y"_a, "offsets"_a, "weights"_a, "query_weights"_a, "potentials"_a, "threads"_a);

    m.def(
        "fidelity_splits",
        [](In<double, 1> scores, In<double, 1> y, In<std::int64_t, 1> offsets, In<double, 1> weights,
           In<double, 1> query_weights, In<std::uint8_t, 2> rankers, Out<double, 2> splits, unsigned threads) {
            const GradedQueries queries(scores, y, offsets, weights);
            const std::size_t k = rankers.shape(0);
            check(rankers.shape(1) == y.size() && query_weights.size() == queries.count,
                  "rankers or query weights do not fit");
            check(splits.shape(0) == 2 && splits.shape(1) == k, "two sums a weak ranker are needed");
            std::vector<double> parts(queries.count * 2 * k);
            queries.run<FidelityPairs>(threads, [&](std::size_t q, std::size_t i, std::size_t n, FidelityPairs& pairs) {
                double* const right = parts.data() + q * 2 * k;
                fidelity_splits_query(pairs, queries.scores + i, queries.y + i, queries.weights + i, n,
                                      query_weights.data()[q], rankers.data() + i, k, rankers.shape(1), right,
                                      right + k);
            });
            std::fill(splits.data(), splits.data() + 2 * k, 0.0);
            for (std::size_t q = 0; q < queries.count; ++q) {
                for (std::size_t c = 0; c < 2 * k; ++c) splits.data()[c] += parts[q * 2 * k + c];
            }
        },
        "scores"_a, "y"_a, "offsets"_a, "weights"_a, "query_weights"_a, "rankers"_a, "splits"_a, "threads"_a);
}

}  // namespace rankloop
