// EM for click models whose users read from the top: DCM, DBN and CCM.
//
// Rows down to the last click were examined for certain, because users cannot jump. What is latent is how far a user
// read after the last click, and why the user stopped. So the E step needs one pass up the rows below the last click,
// for the probability that no click follows, and one pass down the page, for the posterior of examination. The M step
// divides expected counts. Each model is a `Rule`, which says with which probability users go on and which counts it
// needs.
#pragma once

#include <vector>

#include "clicks/pages.hpp"

namespace rankloop {

// The expected numbers of clicks and of views from which a probability is estimated.
struct Tally {
    double clicked = 0, seen = 0;

    void add(double c, double s) { clicked += c, seen += s; }
};

// The likelihood of what is below a row, if the user stopped there and if the user went on. If there is a click below,
// the user must have gone on: (0, 1). Otherwise stopping explains the missing clicks with certainty, and going on with
// the probability of no click: (1, unclicked). Bayes' rule turns these into the posterior of going on.
struct Below {
    double stop, go;

    double chance(double go_on) const { return (1 - go_on) * stop + go_on * go; }
    double went_on(double go_on) const { return go_on * go / chance(go_on); }
};

// DCM: after a click, users go on with a probability that depends on the position; after a skip they always go on.
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

// DBN: a clicked document satisfies with a probability of its pair, and satisfied users stop. Others go on with a
// shared probability, which is 1 in SDBN.
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
        // A user who stopped was satisfied, or was not and stopped all the same. `happy` is the posterior of the first;
        // only users who were not satisfied say something about go_on.
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

// CCM: a clicked document is relevant with the probability of its attraction. Users go on with one of three shared
// probabilities: after a skip, after a click on an irrelevant document, and after a click on a relevant one.
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
        // The posterior of relevance counts as a second observation of attraction, besides the click itself.
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

// Adds the expected counts of one page. `unclicked` is scratch.
template <typename Rule>
void expect_page(const GroupedPages& pages, std::size_t page, std::size_t first_pair, const double* attraction,
                 const Rule& rule, std::size_t ranks, std::vector<double>& unclicked, Tally* attracted,
                 Tally* satisfied, double* sums) {
    const auto begin = static_cast<std::size_t>(pages.offsets[page]),
               end = static_cast<std::size_t>(pages.offsets[page + 1]);
    const double count = pages.counts[page];
    std::size_t after_last = end;  // one past the last click
    while (after_last > begin && !pages.clicks[after_last - 1]) --after_last;
    unclicked.assign(end - begin + 1, 1.0);  // [r]: P(no click from r on | r is examined), 1 beyond the end
    for (std::size_t r = end; r-- > after_last;) {
        const double go_on = rule.after_skip();
        unclicked[r - begin] = (1 - attraction[pages.pairs[r]]) * ((1 - go_on) + go_on * unclicked[r + 1 - begin]);
    }
    double examined = 1;  // the posterior of examination, given all clicks on the page
    for (std::size_t r = begin; r < end; ++r) {
        const auto pair = static_cast<std::size_t>(pages.pairs[r]);
        attracted[pair - first_pair].add(count * pages.clicks[r], count * examined);
        if (r + 1 == end) break;  // nothing shows whether the user would have gone on below the page
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

// Takes `iterations` steps of EM from the current attraction and rule. pause() is called after each.
//
// The pages of a query are the only ones with its pairs, so attraction is replaced as soon as a query is done. Shared
// parameters change only when all queries are done: otherwise the result would depend on the threads.
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
