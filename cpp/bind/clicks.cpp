// Binding of click models: grouping of logs, EM, probabilities and simulated clicks.
#include "bind/arrays.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <limits>
#include <tuple>
#include <utility>

#include "clicks/browsing.hpp"
#include "clicks/chain.hpp"
#include "clicks/chain_em.hpp"
#include "clicks/grouping.hpp"
#include "clicks/pages.hpp"
#include "clicks/trust.hpp"

namespace rankloop {

namespace {

constexpr std::size_t pages_a_thread = 4096;

// As rankloop.clicks.log.grouped_pages.GroupedPages has them.
using PageArrays = std::tuple<In<std::int64_t, 1>, In<std::int64_t, 1>, In<std::int64_t, 1>, In<double, 1>,
                              In<std::int32_t, 1>, In<std::int32_t, 1>, In<std::uint8_t, 1>>;
// And the document of each pair.
using GroupedArrays = nb::typed<nb::tuple, Array<std::int64_t>, Array<std::int64_t>, Array<std::int64_t>, Array<double>,
                                Array<std::int32_t>, Array<std::int32_t>, Array<std::uint8_t>, Array<std::int32_t>>;
using PriorTuple = std::pair<double, double>;

template <typename T>
Array<T> to_array(std::vector<T>&& values) {
    auto* const held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner)));
}

GroupedPages checked(const PageArrays& arrays) {
    const auto& [query_pages, query_pairs, offsets, counts, pairs, positions, clicks] = arrays;
    const std::size_t rows = pairs.size();
    check_offsets(offsets, rows);
    check_offsets(query_pages, counts.size());
    check_size(counts, offsets.size() - 1, "counts do not fit the pages");
    check_size(positions, rows, "positions do not fit the rows"),
        check_size(clicks, rows, "clicks do not fit the rows");
    check_size(query_pairs, query_pages.size(), "query_pairs does not fit the queries");
    const GroupedPages pages{query_pages.data(), query_pairs.data(), query_pages.size() - 1, offsets.data(),
                             counts.data(),      pairs.data(),       positions.data(),       clicks.data()};
    bool fits = true;
    for (std::size_t q = 0; q < pages.queries; ++q) {
        const std::int64_t end = pages.offsets[pages.query_pages[q + 1]];
        for (std::int64_t r = pages.offsets[pages.query_pages[q]]; r < end; ++r) {
            fits &= pages.pairs[r] >= pages.query_pairs[q] && pages.pairs[r] < pages.query_pairs[q + 1] &&
                    pages.positions[r] >= 1;
        }
    }
    check(fits && pages.query_pairs[0] == 0, "pairs or positions are out of range");
    return pages;
}

void check_pairs(const GroupedPages& pages, std::size_t n) {
    check(n == static_cast<std::size_t>(pages.query_pairs[pages.queries]), "one value a pair is needed");
}

// Ranks beyond the number of parameters would overflow when squared.
void check_contexts(const Contexts& contexts, std::size_t n) {
    check(contexts.ranks > 0, "ranks must be at least 1");
    check(contexts.ranks <= n && contexts.size() == n, "examination does not fit the ranks");
}

GroupedArrays group_click_log(In<std::int64_t, 1> offsets, In<std::int32_t, 1> queries, In<std::int32_t, 1> documents,
                              In<std::int32_t, 1> positions, In<std::uint8_t, 1> clicks,
                              std::optional<In<double, 1>> counts, std::size_t n_queries) {
    const std::size_t rows = documents.size(), pages = queries.size();
    check_offsets(offsets, rows);
    check_size(offsets, pages + 1, "offsets do not fit the pages");
    check_size(positions, rows, "positions do not fit the rows"),
        check_size(clicks, rows, "clicks do not fit the rows");
    check(!counts || counts->size() == pages, "counts do not fit the pages");
    check(n_queries <= std::numeric_limits<std::int32_t>::max(), "there are too many queries");
    check(std::all_of(queries.data(), queries.data() + pages,
                      [&](std::int32_t q) { return q >= 0 && static_cast<std::size_t>(q) < n_queries; }),
          "a query is out of range");
    Grouping found;
    {
        nb::gil_scoped_release release;
        found = group_pages({offsets.data(), queries.data(), documents.data(), positions.data(), clicks.data(),
                             counts ? counts->data() : nullptr, pages, n_queries});
    }
    return nb::make_tuple(to_array(std::move(found.query_pages)), to_array(std::move(found.query_pairs)),
                          to_array(std::move(found.offsets)), to_array(std::move(found.counts)),
                          to_array(std::move(found.pairs)), to_array(std::move(found.positions)),
                          to_array(std::move(found.clicks)), to_array(std::move(found.pair_documents)));
}

void fit_browsing_model(const PageArrays& arrays, Out<double, 1> attraction, Out<double, 1> examination,
                        std::size_t ranks, bool by_last_click, PriorTuple prior, std::size_t iterations,
                        unsigned threads) {
    const GroupedPages pages = checked(arrays);
    const Contexts contexts{ranks, by_last_click};
    check_pairs(pages, attraction.size()), check_contexts(contexts, examination.size());
    nb::gil_scoped_release release;
    fit_browsing(pages, attraction.data(), examination.data(), contexts, {prior.first, prior.second}, iterations,
                 threads, pause_for_python);
}

void fit_trust_model(const PageArrays& arrays, Out<double, 1> relevance, Out<double, 1> relevant,
                     Out<double, 1> irrelevant, PriorTuple prior, std::size_t iterations, unsigned threads) {
    const GroupedPages pages = checked(arrays);
    check_pairs(pages, relevance.size());
    check(relevant.size() > 0, "ranks must be at least 1"),
        check_size(irrelevant, relevant.size(), "one chance a rank is needed");
    nb::gil_scoped_release release;
    fit_trust(pages, relevance.data(), relevant.data(), irrelevant.data(), relevant.size(), {prior.first, prior.second},
              iterations, threads, pause_for_python);
}

void fit_dependent_model(const PageArrays& arrays, Out<double, 1> attraction, Out<double, 1> go_on, PriorTuple prior,
                         std::size_t iterations, unsigned threads) {
    const GroupedPages pages = checked(arrays);
    check_pairs(pages, attraction.size()), check(go_on.size() > 0, "ranks must be at least 1");
    nb::gil_scoped_release release;
    DependentRule rule{go_on.data(), go_on.size()};
    fit_chain(pages, attraction.data(), rule, go_on.size(), {prior.first, prior.second}, iterations, threads,
              pause_for_python);
}

double fit_bayesian_model(const PageArrays& arrays, Out<double, 1> attraction, Out<double, 1> satisfaction,
                          double go_on, bool learns_going_on, PriorTuple prior, std::size_t iterations,
                          unsigned threads) {
    const GroupedPages pages = checked(arrays);
    check_pairs(pages, attraction.size()), check_pairs(pages, satisfaction.size());
    nb::gil_scoped_release release;
    BayesianRule rule{satisfaction.data(), go_on, learns_going_on};
    fit_chain(pages, attraction.data(), rule, 1, {prior.first, prior.second}, iterations, threads, pause_for_python);
    return rule.go_on;
}

std::vector<double> fit_click_chain_model(const PageArrays& arrays, Out<double, 1> attraction,
                                          std::tuple<double, double, double> go_on, PriorTuple prior,
                                          std::size_t iterations, unsigned threads) {
    const GroupedPages pages = checked(arrays);
    check_pairs(pages, attraction.size());
    nb::gil_scoped_release release;
    ClickChainRule rule{attraction.data(), std::get<0>(go_on), std::get<1>(go_on), std::get<2>(go_on)};
    fit_chain(pages, attraction.data(), rule, 1, {prior.first, prior.second}, iterations, threads, pause_for_python);
    return {rule.after_skipping, rule.after_useless, rule.after_relevant};
}

// Calls body(first row, rows) for every page.
template <typename Body>
void over_pages(const In<std::int64_t, 1>& offsets, unsigned threads, const Body& make_body) {
    parallel_parts(offsets.size() - 1, pages_a_thread, threads, [&](std::size_t begin, std::size_t end) {
        auto body = make_body();
        for (std::size_t p = begin; p < end; ++p) {
            const auto first = static_cast<std::size_t>(offsets.data()[p]);
            body(first, static_cast<std::size_t>(offsets.data()[p + 1]) - first);
        }
    });
}

struct ChainArrays {
    In<double, 1> attraction, after_skip, after_click;

    void check_rows(const In<std::int64_t, 1>& offsets) const {
        check_offsets(offsets, attraction.size());
        check_size(after_skip, attraction.size(), "one value a row is needed"),
            check_size(after_click, attraction.size(), "one value a row is needed");
    }
    ChainPage at(std::size_t first, std::size_t n) const {
        return {attraction.data() + first, after_skip.data() + first, after_click.data() + first, n};
    }
};

Array<double> chain_click_probabilities(In<double, 1> attraction, In<double, 1> after_skip, In<double, 1> after_click,
                                        In<std::int64_t, 1> offsets, std::optional<In<std::uint8_t, 1>> clicks,
                                        unsigned threads) {
    const ChainArrays rows{attraction, after_skip, after_click};
    rows.check_rows(offsets), check(!clicks || clicks->size() == attraction.size(), "clicks do not fit the rows");
    double* out;
    auto result = new_array<double>({attraction.size()}, &out);
    nb::gil_scoped_release release;
    over_pages(offsets, threads, [&] {
        return [&](std::size_t first, std::size_t n) {
            if (clicks) {
                chain_conditionals(rows.at(first, n), clicks->data() + first, out + first);
            } else {
                chain_marginals(rows.at(first, n), out + first);
            }
        };
    });
    return result;
}

Array<std::uint8_t> chain_clicks(In<double, 1> attraction, In<double, 1> after_skip, In<double, 1> after_click,
                                 In<std::int64_t, 1> offsets, In<double, 1> click_draws,
                                 std::optional<In<double, 1>> stop_draws) {
    const ChainArrays rows{attraction, after_skip, after_click};
    rows.check_rows(offsets), check_size(click_draws, attraction.size(), "one draw a row is needed");
    check(!stop_draws || stop_draws->size() == attraction.size(), "one draw a row is needed");
    std::uint8_t* out;
    auto result = new_array<std::uint8_t>({attraction.size()}, &out);
    nb::gil_scoped_release release;
    over_pages(offsets, 1, [&] {
        return [&](std::size_t first, std::size_t n) {
            chain_sample(rows.at(first, n), click_draws.data() + first,
                         stop_draws ? stop_draws->data() + first : nullptr, out + first);
        };
    });
    return result;
}

struct BrowsingArrays {
    In<double, 1> attraction;
    In<std::int32_t, 1> positions;
    In<double, 1> examination;
    Contexts contexts;

    void check_rows(const In<std::int64_t, 1>& offsets) const {
        check_offsets(offsets, attraction.size()),
            check_size(positions, attraction.size(), "positions do not fit the rows");
        check_contexts(contexts, examination.size());
        check(std::all_of(positions.data(), positions.data() + positions.size(), [](std::int32_t k) { return k >= 1; }),
              "positions start at 1");
    }
    BrowsingPage at(std::size_t first, std::size_t n) const {
        return {attraction.data() + first, positions.data() + first, n, examination.data(), contexts};
    }
};

Array<double> browsing_click_probabilities(In<double, 1> attraction, In<std::int32_t, 1> positions,
                                           In<double, 1> examination, std::size_t ranks, In<std::int64_t, 1> offsets,
                                           std::optional<In<std::uint8_t, 1>> clicks, unsigned threads) {
    const BrowsingArrays rows{attraction, positions, examination, {ranks, true}};
    rows.check_rows(offsets), check(!clicks || clicks->size() == attraction.size(), "clicks do not fit the rows");
    double* out;
    auto result = new_array<double>({attraction.size()}, &out);
    nb::gil_scoped_release release;
    over_pages(offsets, threads, [&] {
        return [&, weights = std::vector<double>()](std::size_t first, std::size_t n) mutable {
            if (clicks) {
                browsing_conditionals(rows.at(first, n), clicks->data() + first, out + first);
            } else {
                browsing_marginals(rows.at(first, n), weights, out + first);
            }
        };
    });
    return result;
}

Array<std::uint8_t> browsing_clicks(In<double, 1> attraction, In<std::int32_t, 1> positions, In<double, 1> examination,
                                    std::size_t ranks, In<std::int64_t, 1> offsets, In<double, 1> draws) {
    const BrowsingArrays rows{attraction, positions, examination, {ranks, true}};
    rows.check_rows(offsets), check_size(draws, attraction.size(), "one draw a row is needed");
    std::uint8_t* out;
    auto result = new_array<std::uint8_t>({attraction.size()}, &out);
    nb::gil_scoped_release release;
    over_pages(offsets, 1, [&] {
        return [&](std::size_t first, std::size_t n) {
            browsing_sample(rows.at(first, n), draws.data() + first, out + first);
        };
    });
    return result;
}

}  // namespace

void bind_clicks(nb::module_& m) {
    m.def("group_click_log", &group_click_log, "offsets"_a, "queries"_a, "documents"_a, "positions"_a, "clicks"_a,
          "counts"_a.none(), "n_queries"_a);
    m.def("fit_browsing_model", &fit_browsing_model, "pages"_a, "attraction"_a, "examination"_a, "ranks"_a,
          nb::kw_only(), "by_last_click"_a, "prior"_a, "iterations"_a, "threads"_a);
    m.def("fit_trust_model", &fit_trust_model, "pages"_a, "relevance"_a, "relevant"_a, "irrelevant"_a, "prior"_a,
          "iterations"_a, "threads"_a);
    m.def("fit_dependent_model", &fit_dependent_model, "pages"_a, "attraction"_a, "go_on"_a, "prior"_a, "iterations"_a,
          "threads"_a);
    m.def("fit_bayesian_model", &fit_bayesian_model, "pages"_a, "attraction"_a, "satisfaction"_a, "go_on"_a,
          nb::kw_only(), "learns_going_on"_a, "prior"_a, "iterations"_a, "threads"_a);
    m.def("fit_click_chain_model", &fit_click_chain_model, "pages"_a, "attraction"_a, "go_on"_a, "prior"_a,
          "iterations"_a, "threads"_a);
    m.def("chain_click_probabilities", &chain_click_probabilities, "attraction"_a, "after_skip"_a, "after_click"_a,
          "offsets"_a, "clicks"_a.none(), "threads"_a);
    m.def("chain_clicks", &chain_clicks, "attraction"_a, "after_skip"_a, "after_click"_a, "offsets"_a, "click_draws"_a,
          "stop_draws"_a.none());
    m.def("browsing_click_probabilities", &browsing_click_probabilities, "attraction"_a, "positions"_a, "examination"_a,
          "ranks"_a, "offsets"_a, "clicks"_a.none(), "threads"_a);
    m.def("browsing_clicks", &browsing_clicks, "attraction"_a, "positions"_a, "examination"_a, "ranks"_a, "offsets"_a,
          "draws"_a);
}

}  // namespace rankloop
