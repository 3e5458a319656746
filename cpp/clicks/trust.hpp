// Trust bias: P(click) = a_k relevance + b_k (1 - relevance) at position k, fitted by EM with latent relevance.
#pragma once

#include <vector>

#include "clicks/pages.hpp"

namespace rankloop {

// relevant, irrelevant: the chances of a click on a relevant and an irrelevant document by position. pause() is called
// after each step.
template <typename Pause>
void fit_trust(const GroupedPages& pages, double* relevance, double* relevant, double* irrelevant, std::size_t ranks,
               Prior prior, std::size_t iterations, unsigned threads, const Pause& pause) {
    std::vector<double> sums(4 * ranks);
    for (std::size_t step = 0; step < iterations; ++step) {
        sum_over_queries(pages, sums.size(), sums.data(), threads, [&] {
            return [&, is_relevant = std::vector<double>(), shown = std::vector<double>()](std::size_t q,
                                                                                           double* own) mutable {
                const auto first = static_cast<std::size_t>(pages.query_pairs[q]),
                           end = static_cast<std::size_t>(pages.query_pairs[q + 1]);
                is_relevant.assign(end - first, 0.0), shown.assign(end - first, 0.0);
                for (std::int64_t page = pages.query_pages[q]; page < pages.query_pages[q + 1]; ++page) {
                    const double count = pages.counts[page];
                    for (std::int64_t r = pages.offsets[page]; r < pages.offsets[page + 1]; ++r) {
                        const auto pair = static_cast<std::size_t>(pages.pairs[r]);
                        const std::size_t k = std::min(static_cast<std::size_t>(pages.positions[r]), ranks) - 1;
                        const double click = pages.clicks[r];
                        // Bayes' rule: is this view of a relevant document, given its click or skip?
                        const double yes = relevance[pair] * (click ? relevant[k] : 1 - relevant[k]);
                        const double no = (1 - relevance[pair]) * (click ? irrelevant[k] : 1 - irrelevant[k]);
                        const double weight = count * yes / (yes + no);
                        is_relevant[pair - first] += weight;
                        shown[pair - first] += count;
                        own[4 * k] += weight * click, own[4 * k + 1] += weight;
                        own[4 * k + 2] += (count - weight) * click, own[4 * k + 3] += count - weight;
                    }
                }
                for (std::size_t pair = first; pair < end; ++pair)
                    relevance[pair] = prior.mean(is_relevant[pair - first], shown[pair - first]);
            };
        });
        for (std::size_t k = 0; k < ranks; ++k) {
            relevant[k] = prior.mean(sums[4 * k], sums[4 * k + 1]);
            irrelevant[k] = prior.mean(sums[4 * k + 2], sums[4 * k + 3]);
        }
        pause();
    }
}

}  // namespace rankloop
