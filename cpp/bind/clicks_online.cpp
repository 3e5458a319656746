// Binding of rankers for clicks: rankings drawn by Plackett and Luce, PDGD, and draws from a posterior.
#include "bind/online_call.hpp"

#include "clicks/directions.hpp"
#include "clicks/play.hpp"
#include "clicks/plackett_luce.hpp"
#include "clicks/posterior.hpp"
#include "clicks/reading.hpp"

namespace rankloop {

namespace {

Array<std::int64_t> sample_plackett_luce(In<double, 1> scores, In<double, 1> draws, std::size_t k) {
    check_size(draws, scores.size(), "one draw a score is needed"), check_no_nan(scores, "scores must be numbers");
    const std::size_t n = std::min(k, scores.size());
    std::int64_t* order;
    auto result = new_array<std::int64_t>({n}, &order);
    PlackettLuceSample()(scores.data(), scores.size(), draws.data(), n, order);
    return result;
}

Array<double> reversal_shares(In<double, 1> scores, In<std::int64_t, 1> order, In<std::int64_t, 2> pairs) {
    const auto n = static_cast<std::int64_t>(order.size()), m = static_cast<std::int64_t>(scores.size());
    check(m > 0 && pairs.shape(1) == 2, "scores, and pairs of two positions, are needed"),
        check_no_nan(scores, "scores must be numbers");
    for (std::int64_t p = 0; p < n; ++p) check(order.data()[p] >= 0 && order.data()[p] < m, "a row is out of range");
    for (std::size_t i = 0; i < pairs.size(); ++i)
        check(pairs.data()[i] >= 0 && pairs.data()[i] < n, "a position is out of range");
    double* out;
    auto result = new_array<double>({pairs.shape(0)}, &out);
    Reversal reversal;
    reversal.prepare(scores.data(), scores.size(), order.data(), order.size());
    for (std::size_t i = 0; i < pairs.shape(0); ++i) {
        out[i] = reversal.share(static_cast<std::size_t>(pairs.data()[2 * i]),
                                static_cast<std::size_t>(pairs.data()[2 * i + 1]));
    }
    return result;
}

// Ranks of each query are 0, or 1 to the length of its list, each once.
void check_ranks(const In<std::int32_t, 1>& ranks, const In<std::int64_t, 1>& offsets) {
    std::vector<bool> taken;
    for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
        const std::int64_t first = offsets.data()[q], end = offsets.data()[q + 1];
        std::int64_t shown = 0, last = 0;
        taken.assign(static_cast<std::size_t>(end - first) + 1, false);
        for (std::int64_t r = first; r < end; ++r) {
            const std::int32_t rank = ranks.data()[r];
            check(rank >= 0 && rank <= end - first && !(rank > 0 && taken[static_cast<std::size_t>(rank)]),
                  "ranks are not those of a list");
            taken[static_cast<std::size_t>(rank)] = true;
            shown += rank > 0, last = std::max<std::int64_t>(last, rank);
        }
        check(shown == last, "ranks are not those of a list");
    }
}

std::int64_t learn_pdgd(In<float, 2> x, In<double, 1> y, In<std::int64_t, 1> offsets,
                        std::optional<In<double, 1>> document_weights, std::optional<In<double, 1>> query_weights,
                        Out<double, 1> w, std::optional<Out<double, 1>> sum, std::int64_t queries,
                        std::optional<Out<float, 1>> scores, Out<double, 1> sizes, double clip, double rate,
                        double decay, double keep, std::optional<In<std::int32_t, 1>> ranks,
                        std::optional<In<double, 1>> logged) {
    OnlineCall call(x, y, offsets, document_weights, query_weights, w, sum, queries, scores);
    check(x.shape(1) > 0, "a feature is needed");
    ShownRows shown{x.data()};
    check(ranks.has_value() == logged.has_value(), "ranks and the scores they come from are needed together");
    if (ranks) {
        check_size(*ranks, y.size(), "one rank a row is needed"),
            check_size(*logged, y.size(), "one logged score a row is needed");
        check_no_nan(*logged, "scores must be numbers"), check_ranks(*ranks, offsets);
        bool fits = true;
        for (std::size_t i = 0; i < y.size(); ++i) fits &= y.data()[i] < 0 || ranks->data()[i] > 0;
        check(fits, "a document that was not shown cannot have been clicked");
        shown.ranks = ranks->data(), shown.scores = logged->data();
    }
    return call.bounded(sizes, clip).run(PdgdStep({rate, decay}, {keep}, shown));
}

std::int64_t play_pdgd_impressions(In<float, 2> x, In<std::int64_t, 1> offsets, In<double, 1> attraction,
                                   In<double, 1> after_skip, In<double, 1> after_click, In<std::int64_t, 1> chosen,
                                   In<double, 1> draws, bool stops, Out<double, 1> w, std::optional<Out<double, 1>> sum,
                                   std::int64_t queries, Out<double, 1> sizes, double clip, double rate, double decay,
                                   double keep, Out<std::int64_t, 2> shown, Out<std::uint8_t, 2> clicks) {
    const std::size_t rows = x.shape(0), k = shown.shape(1);
    check_offsets(offsets, rows), check(x.shape(1) > 0, "a feature is needed"),
        check_size(w, x.shape(1), "one weight a feature is needed");
    check(!sum || sum->size() == w.size(), "the sum of the weights does not fit them");
    check_size(sizes, 2, "two sums are needed"), check(queries >= 0, "the number of queries must be at least 0");
    check_size(attraction, rows, "one chance a row is needed"),
        check_size(after_skip, rows, "one chance a row is needed");
    check_size(after_click, rows, "one chance a row is needed"), check(k > 0, "lists need a place");
    check(shown.shape(0) == chosen.size() && clicks.shape(0) == chosen.size() && clicks.shape(1) == k,
          "one list an impression is needed");
    std::size_t needed = 0;
    for (std::size_t t = 0; t < chosen.size(); ++t) {
        const std::int64_t q = chosen.data()[t];
        check(q >= 0 && static_cast<std::size_t>(q) + 1 < offsets.size(), "a query is out of range");
        const auto m = static_cast<std::size_t>(offsets.data()[q + 1] - offsets.data()[q]);
        needed += m + (stops ? 2 : 1) * std::min(k, m);
    }
    check_size(draws, needed, "the draws do not fit the impressions");
    LinearState state{w.data(), x.shape(1), sum ? sum->data() : nullptr, queries, 0};
    nb::gil_scoped_release release;
    play_pdgd({{x.data(), nullptr, offsets.data(), offsets.size() - 1},
               {attraction.data(), after_skip.data(), after_click.data(), rows},
               chosen.data(),
               chosen.size(),
               k,
               draws.data(),
               stops,
               shown.data(),
               clicks.data()},
              {rate, decay}, {keep}, {sizes.data(), clip}, state, pause_for_python);
    return state.updates;
}

Array<double> unit_directions(In<double, 1> draws, std::size_t n, std::size_t d) {
    check(d > 0 && draws.size() == n * (d + d % 2), "an even number of draws a direction is needed");
    double* out;
    auto result = new_array<double>({n, d}, &out);
    for (std::size_t i = 0; i < n; ++i) unit_direction(draws.data() + i * (d + d % 2), d, out + i * d);
    return result;
}

void check_gaussian(const auto& w, const auto& root) {
    const std::size_t d = w.size();
    check(root.shape(0) == d && root.shape(1) == d, "the root does not fit the weights");
    for (std::size_t j = 0; j < d; ++j) check(root.data()[j * d + j] > 0, "the root must have a diagonal above 0");
}

Array<double> draw_posterior(In<double, 1> w, In<double, 2> root, In<double, 1> draws, double spread) {
    const std::size_t d = w.size();
    check_gaussian(w, root), check_size(draws, d + d % 2, "an even number of draws is needed");
    double* out;
    auto result = new_array<double>({d}, &out);
    draw_weights(w.data(), root.data(), d, draws.data(), spread, out);
    return result;
}

void pull_weights(Out<double, 1> w, Out<double, 2> root, double more) {
    check_gaussian(w, root), check(more >= 0 && std::isfinite(more), "a precision must be at least 0");
    nb::gil_scoped_release release;
    pull_to_zero(w.data(), root.data(), w.size(), more);
}

// counts: clicks by position, examinations by position, then (went on, stopped) after passing over and after a click
Array<double> read_page(In<std::uint8_t, 1> clicks, Out<double, 1> counts) {
    check(counts.size() >= 6 && counts.size() % 2 == 0, "counts of at least one position are needed");
    for (std::size_t i = 0; i < counts.size(); ++i)
        check(counts.data()[i] > 0 && std::isfinite(counts.data()[i]), "counts must be above 0");
    const std::size_t ranks = (counts.size() - 4) / 2;
    ReadingCounts known{counts.data(), counts.data() + ranks, ranks, counts.data() + 2 * ranks,
                        counts.data() + 2 * ranks + 2};
    double* out;
    auto result = new_array<double>({clicks.size()}, &out);
    Reading().posterior(known, clicks.data(), clicks.size(), out);
    Reading::count(known, clicks.data(), clicks.size(), out);
    return result;
}

}  // namespace

void bind_clicks_online(nb::module_& m) {
    m.def("sample_plackett_luce", &sample_plackett_luce, "scores"_a, "draws"_a, "k"_a);
    m.def("reversal_shares", &reversal_shares, "scores"_a, "order"_a, "pairs"_a);
    m.def("read_page", &read_page, "clicks"_a, "counts"_a);
    m.def("unit_directions", &unit_directions, "draws"_a, "n"_a, "d"_a);
    m.def("draw_posterior", &draw_posterior, "weights"_a, "root"_a, "draws"_a, "spread"_a);
    m.def("pull_to_zero", &pull_weights, "weights"_a, "root"_a, "more"_a);
    m.def("learn_pdgd", &learn_pdgd, "x"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none(),
          "w"_a, "total"_a.none(), "queries"_a, "scores"_a.none(), "sizes"_a, "clip"_a, "rate"_a, "decay"_a, "keep"_a,
          "ranks"_a.none() = nb::none(), "logged"_a.none() = nb::none());
    m.def("play_pdgd", &play_pdgd_impressions, "x"_a, "offsets"_a, "attraction"_a, "after_skip"_a, "after_click"_a,
          "chosen"_a, "draws"_a, nb::kw_only(), "stops"_a, "w"_a, "total"_a.none(), "queries"_a, "sizes"_a, "clip"_a,
          "rate"_a, "decay"_a, "keep"_a, "shown"_a, "clicks"_a);
}

}  // namespace rankloop
