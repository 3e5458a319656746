// EM for users who read from the top. Latent is only how far they read after the last click, and why they stopped:
// rows above the last click were examined for certain.
#pragma once

#include <vector>

#include "clicks/pages.hpp"

namespace rankloop {

// Clicks and views added up, of one query's pairs or of a shared parameter.
struct Tally {
    double clicked = 0, seen = 0;

    void add(double c, double s) { clicked += c, seen += s; }
};

// What a user did next is weighed by `stop`, the chance of all that was seen below had the user stopped, and `go`, had
// the user gone on. A click below leaves only going on: (0, 1).
struct Below {
    double stop, go;

    double chance(double go_on) const { return (1 - go_on) * stop + go_on * go; }
    double went_on(double go_on) const { return go_on * go / chance(go_on); }
};

// DCM: after a click, users go on by its position; after a skip always.
struct DependentRule {
    double* go_on;  // by position from 1, the last for all beyond
    std::size_t ranks;

    std::size_t shared() const { return 2 * ranks; }
    double after_skip() const { return 1; }
    double after_click(std::size_t, std::size_t rank) const { return go_on[rank]; }
    void skipped(double, double, double*) const {}
    void clicked(std::size_t, std::size_t, std::size_t rank, double count, Below below, Tally*, Tally*,
                 double* sums) const {
        sums[2 * rank] += count * below.went_on(go_on[rank]);
        sums[2 * rank + 1] += count;
    }
    void finish_pair(std::size_t, const Tally&, const Prior&) const {}
    void finish(const double* sums, const Prior& prior) const {
        for (std::size_t k = 0; k < ranks; ++k) go_on[k] = prior.mean(sums[2 * k], sums[2 * k + 1]);
    }
};

// DBN: a clicked document satisfies by its pair; who is not satisfied goes on by a shared chance, 1 in SDBN.
struct BayesianRule {
    double* satisfaction;  // by pair
    double go_on;
    bool learns_going_on;

    std::size_t shared() const { return 2; }
    double after_skip() const { return go_on; }
    double after_click(std::size_t pair, std::size_t) const { return go_on * (1 - satisfaction[pair]); }
    void skipped(double count, double went_on, double* sums) const { sums[0] += count * went_on, sums[1] += count; }
    void clicked(std::size_t pair, std::size_t own, std::size_t, double count, Below below, Tally*, Tally* satisfied,
                 double* sums) const {
        const double after = go_on * (1 - satisfaction[pair]);
        const double happy = satisfaction[pair] * below.stop / below.chance(after);
        satisfied[own].add(count * happy, count);
        sums[0] += count * below.went_on(after);
        sums[1] += count * (1 - happy);
    }
    void finish_pair(std::size_t pair, const Tally& satisfied, const Prior& prior) const {
        satisfaction[pair] = prior.mean(satisfied.clicked, satisfied.seen);
    }
    void finish(const double* sums, const Prior& prior) {
        if (learns_going_on) go_on = prior.mean(sums[0], sums[1]);
    }
};

// CCM: a clicked document is relevant by its attraction; users go on by one of three shared chances.
struct ClickChainRule {
    const double* attraction;  // by pair
    double after_skipping, after_useless, after_relevant;

    std::size_t shared() const { return 6; }
    double after_skip() const { return after_skipping; }
    double after_click(std::size_t pair, std::size_t) const {
        return after_useless * (1 - attraction[pair]) + after_relevant * attraction[pair];
    }
    void skipped(double count, double went_on, double* sums) const { sums[0] += count * went_on, sums[1] += count; }
    void clicked(std::size_t pair, std::size_t own, std::size_t, double count, Below below, Tally* attracted, Tally*,
                 double* sums) const {
        const double a = attraction[pair], whole = below.chance(after_click(pair, 0));
        const double relevant = a * below.chance(after_relevant) / whole;
        attracted[own].add(count * relevant, count);
        sums[2] += count * (1 - a) * after_useless * below.go / whole;
        sums[3] += count * (1 - relevant);
        sums[4] += count * a * after_relevant * below.go / whole;
        sums[5] += count * relevant;
    }
    void finish_pair(std::size_t, const Tally&, const Prior&) const {}
    void finish(const double* sums, const Prior& prior) {
        after_skipping = prior.mean(sums[0], sums[1]);
        after_useless = prior.mean(sums[2], sums[3]);
        after_relevant = prior.mean(sums[4], sums[5]);
    }
};

// What one page teaches. `unclicked` is scratch.
template <typename Rule>
void expect_page(const GroupedPages& pages, std::size_t page, std::size_t first_pair, const double* attraction,
                 const Rule& rule, std::size_t ranks, std::vector<double>& unclicked, Tally* attracted,
                 Tally* satisfied, double* sums) {
    const auto begin = static_cast<std::size_t>(pages.offsets[page]),
               end = static_cast<std::size_t>(pages.offsets[page + 1]);
    const double count = pages.counts[page];
    std::size_t after_last = end;  // one past the last click
    while (after_last > begin && !pages.clicks[after_last - 1]) --after_last;
    unclicked.assign(end - begin + 1, 1.0);  // [r]: the chance of no click from r on, r being examined
    for (std::size_t r = end; r-- > after_last;) {
        const double go_on = rule.after_skip();
        unclicked[r - begin] = (1 - attraction[pages.pairs[r]]) * ((1 - go_on) + go_on * unclicked[r + 1 - begin]);
    }
    double examined = 1;
    for (std::size_t r = begin; r < end; ++r) {
        const auto pair = static_cast<std::size_t>(pages.pairs[r]);
        attracted[pair - first_pair].add(count * pages.clicks[r], count * examined);
        if (r + 1 == end) break;  // whether the user would have gone on is not seen
        const Below below = r + 1 < after_last ? Below{0, 1} : Below{1, unclicked[r + 1 - begin]};
        const std::size_t rank = std::min(static_cast<std::size_t>(pages.positions[r]), ranks) - 1;
        if (pages.clicks[r]) {
            rule.clicked(pair, pair - first_pair, rank, count, below, attracted, satisfied, sums);
            examined = below.went_on(rule.after_click(pair, rank));
        } else {
            const double went_on = below.went_on(rule.after_skip());
            rule.skipped(count * examined, went_on, sums);
            examined *= went_on;
        }
    }
}

// `iterations` steps of EM from where attraction and the rule stand. pause() is called after each.
template <typename Rule, typename Pause>
void fit_chain(const GroupedPages& pages, double* attraction, Rule& rule, std::size_t ranks, Prior prior,
               std::size_t iterations, unsigned threads, const Pause& pause) {
    std::vector<double> sums(rule.shared());
    for (std::size_t step = 0; step < iterations; ++step) {
        sum_over_queries(pages, sums.size(), sums.data(), threads, [&] {
            return [&, attracted = std::vector<Tally>(), satisfied = std::vector<Tally>(),
                    unclicked = std::vector<double>()](std::size_t q, double* own) mutable {
                const auto first = static_cast<std::size_t>(pages.query_pairs[q]),
                           end = static_cast<std::size_t>(pages.query_pairs[q + 1]);
                attracted.assign(end - first, {}), satisfied.assign(end - first, {});
                for (auto page = static_cast<std::size_t>(pages.query_pages[q]);
                     page < static_cast<std::size_t>(pages.query_pages[q + 1]); ++page) {
                    expect_page(pages, page, first, attraction, rule, ranks, unclicked, attracted.data(),
                                satisfied.data(), own);
                }
                for (std::size_t pair = first; pair < end; ++pair) {
                    attraction[pair] = prior.mean(attracted[pair - first].clicked, attracted[pair - first].seen);
                    rule.finish_pair(pair, satisfied[pair - first], prior);
                }
            };
        });
        rule.finish(sums.data(), prior);
        pause();
    }
}

}  // namespace rankloop
