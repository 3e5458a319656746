// Result pages grouped by query, with equal pages counted together: click models are fitted to these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/parallel.hpp"

namespace rankloop {

// Pages in flat arrays. Pages of query q are query_pages[q]:query_pages[q + 1], and only they hold the pairs
// (query and document) query_pairs[q]:query_pairs[q + 1].
struct GroupedPages {
    const std::int64_t* query_pages;
    const std::int64_t* query_pairs;
    std::size_t queries;
    const std::int64_t* offsets;
    const double* counts;  // how often each page was seen
    const std::int32_t* pairs;
    const std::int32_t* positions;  // from 1
    const std::uint8_t* clicks;
};

// Calls body(query, sums) for every query and adds up the sums. Sums of floating-point numbers depend on their order,
// so the queries are divided into blocks that depend on the data alone, and the sums of the blocks are added in order.
// The bits are then the same for any number of threads. The body may write to the pairs of its query at once, because
// no other query has them.
template <typename MakeBody>
void sum_over_queries(const GroupedPages& pages, std::size_t size, double* sums, unsigned threads,
                      const MakeBody& make_body) {
    constexpr std::size_t max_blocks = 64;
    const std::size_t blocks = std::min(max_blocks, pages.queries);
    const auto rows_before = [&](std::size_t q) { return pages.offsets[pages.query_pages[q]]; };
    std::vector<std::size_t> starts{0};
    for (std::size_t b = 1, q = 0; b < blocks; ++b) {
        const std::int64_t rows =
            rows_before(pages.queries) / static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(b);
        while (q < pages.queries && rows_before(q) < rows) ++q;
        starts.push_back(q);
    }
    starts.push_back(pages.queries);
    std::vector<double> own(blocks * size);
    parallel_parts(blocks, 1, threads, [&](std::size_t begin, std::size_t end) {
        auto body = make_body();
        for (std::size_t b = begin; b < end; ++b) {
            for (std::size_t q = starts[b]; q < starts[b + 1]; ++q) body(q, own.data() + b * size);
        }
    });
    std::fill(sums, sums + size, 0.0);
    for (std::size_t b = 0; b < blocks; ++b) {
        for (std::size_t k = 0; k < size; ++k) sums[k] += own[b * size + k];
    }
}

// The numbers of clicks and of skips that every parameter starts with, so that no probability becomes 0 or 1.
struct Prior {
    double clicks, skips;

    double mean(double clicked, double seen) const { return (clicks + clicked) / (clicks + skips + seen); }
};

}  // namespace rankloop
