// Binding of ranking and measures: the loop over queries, threaded where it pays.
#include "bind/arrays.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>

#include "linalg/parallel.hpp"
#include "measures/measures.hpp"
#include "measures/ranking.hpp"

namespace rankloop {

constexpr std::size_t queries_a_thread = 256;

template <typename Score>
void check_rankable(const In<Score, 1>& scores, const In<std::int64_t, 1>& offsets,
                    const std::optional<In<std::int64_t, 1>>& keys) {
    check_offsets(offsets, scores.size());
    check_no_nan(scores, "scores must not be NaN");
    if (keys) check_size(*keys, scores.size(), "one key a document is needed");
}

// Row numbers in rank order, query after query.
template <typename Score>
Array<std::int64_t> rank_rows(In<Score, 1> scores, In<std::int64_t, 1> offsets, std::optional<In<std::int64_t, 1>> keys,
                              unsigned threads) {
    check_rankable(scores, offsets, keys);
    std::int64_t* rows;
    auto result = new_array<std::int64_t>({scores.size()}, &rows);
    const Released release(scores.size());
    parallel_parts(offsets.size() - 1, queries_a_thread, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int32_t> order, scratch;
        for (std::size_t q = begin; q < end; ++q) {
            const auto first = static_cast<std::size_t>(offsets.data()[q]);
            const std::size_t m = static_cast<std::size_t>(offsets.data()[q + 1]) - first;
            order.resize(m), scratch.resize(m);
            rank_query(scores.data() + first, keys ? keys->data() + first : nullptr, m, order.data(), scratch.data());
            for (std::size_t r = 0; r < m; ++r) rows[first + r] = static_cast<std::int64_t>(first) + order[r];
        }
    });
    return result;
}

using MeasureTuple = std::tuple<int, std::int64_t, double, double>;  // kind, cutoff (0: none), rel, parameter

// One row of values a measure, one column a query.
template <typename Score>
Array<double> measure_queries(In<Score, 1> scores, In<double, 1> grades, In<double, 1> gains,
                              In<std::int64_t, 1> offsets, std::optional<In<std::int64_t, 1>> keys,
                              In<double, 1> discounts, std::vector<MeasureTuple> specs, bool average_ties,
                              bool ap_by_cutoff, unsigned threads) {
    check_rankable(scores, offsets, keys);
    check_size(grades, scores.size(), "one grade a document is needed");
    check_size(gains, scores.size(), "one gain a document is needed");
    check_no_nan(grades, "grades must not be NaN");
    check_no_nan(gains, "gains must not be NaN");
    const std::size_t queries = offsets.size() - 1;
    std::size_t longest = 0;
    for (std::size_t q = 0; q < queries; ++q)
        longest = std::max(longest, static_cast<std::size_t>(offsets.data()[q + 1] - offsets.data()[q]));
    check(discounts.size() >= longest, "one discount a rank is needed");
    std::vector<Measure> measures;
    bool needs_ties = average_ties;
    for (const auto& [kind, cutoff, rel, parameter] : specs) {
        check(kind >= 0 && kind <= static_cast<int>(last_kind) && cutoff >= 0, "there is no such measure");
        measures.push_back(
            {static_cast<Kind>(kind), cutoff ? static_cast<std::size_t>(cutoff) : SIZE_MAX, rel, parameter});
        needs_ties |= measures.back().kind == Kind::pair_accuracy;
    }
    const Rules rules{discounts.data(), average_ties, ap_by_cutoff};
    double* values;
    auto result = new_array<double>({measures.size(), queries}, &values);
    nb::gil_scoped_release release;
    parallel_parts(queries, queries_a_thread, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int32_t> order, scratch;
        Ranked ranked;
        for (std::size_t q = begin; q < end; ++q) {
            const auto first = static_cast<std::size_t>(offsets.data()[q]);
            const std::size_t m = static_cast<std::size_t>(offsets.data()[q + 1]) - first;
            order.resize(m), scratch.resize(m), ranked.gains.resize(m), ranked.grades.resize(m);
            const Score* const s = scores.data() + first;
            ranked.retrieved = rank_query(s, keys ? keys->data() + first : nullptr, m, order.data(), scratch.data());
            for (std::size_t r = 0; r < m; ++r) {
                ranked.gains[r] = gains.data()[first + static_cast<std::size_t>(order[r])];
                ranked.grades[r] = grades.data()[first + static_cast<std::size_t>(order[r])];
            }
            if (needs_ties) {
                ranked.tie_end.resize(m);
                for (std::size_t r = m; r-- > 0;) {
                    ranked.tie_end[r] = r + 1 < m && s[order[r]] == s[order[r + 1]] ? ranked.tie_end[r + 1] : r + 1;
                }
            }
            for (std::size_t k = 0; k < measures.size(); ++k) {
                values[k * queries + q] = measure_query(ranked, rules, measures[k]);
            }
        }
    });
    return result;
}

template <typename Score>
void bind_measures_of(nb::module_& m) {
    m.def("rank_rows", &rank_rows<Score>, "scores"_a, "offsets"_a, "keys"_a.none(), "threads"_a);
    m.def("measure_queries", &measure_queries<Score>, "scores"_a, "grades"_a, "gains"_a, "offsets"_a, "keys"_a.none(),
          "discounts"_a, "measures"_a, nb::kw_only(), "average_ties"_a, "ap_by_cutoff"_a, "threads"_a);
}

void bind_measures(nb::module_& m) {
    bind_measures_of<float>(m);
    bind_measures_of<double>(m);
}

}  // namespace rankloop
