// Groups the pages of a log by query, counts equal pages together, and numbers the pairs of a query and a document.
//
// Real logs repeat themselves: the same query often shows the same list with the same clicks. EM passes over the rows
// many times, so it pays to find equal pages once. The tables are cleared for each query, so they stay small enough
// for the processor's cache, and the numbers depend only on the order of the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankloop {

struct LogArrays {
    const std::int64_t* offsets;
    const std::int32_t* queries;    // of each page
    const std::int32_t* documents;  // of each row
    const std::int32_t* positions;
    const std::uint8_t* clicks;
    const double* counts;  // of each page, or null: one each
    std::size_t pages, n_queries;
};

struct Grouping {
    std::vector<std::int64_t> query_pages{0}, query_pairs{0}, offsets{0};
    std::vector<double> counts;
    std::vector<std::int32_t> pairs, positions, pair_documents;
    std::vector<std::uint8_t> clicks;
};

// The last step of SplitMix64: each bit of the result depends on every bit of x, so that the low bits alone can
// address a table.
inline std::uint64_t mix_bits(std::uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A hash table with open addressing and linear probing. A place holds -1 if it is free, or an index; the caller says
// whether an index is the right one, so equal hashes do no harm. At least half of the places are free, so that probing
// is short and always ends.
class Places {
public:
    void clear(std::size_t items) {
        std::size_t size = 16;
        while (size < 2 * items) size *= 2;
        table_.assign(size, -1);
    }

    // Returns the index in the table for which same(index) holds; if there is none, puts `fresh` there and returns it.
    template <typename Same>
    std::int64_t find_or_add(std::uint64_t hash, std::int64_t fresh, const Same& same) {
        const std::size_t mask = table_.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            if (table_[at] < 0) return table_[at] = fresh;
            if (same(table_[at])) return table_[at];
        }
    }

private:
    std::vector<std::int64_t> table_;
};

inline Grouping group_pages(const LogArrays& log) {
    // A counting sort of the pages by query, which keeps their order within a query.
    std::vector<std::int64_t> first(log.n_queries + 1), order(log.pages);
    for (std::size_t p = 0; p < log.pages; ++p) ++first[static_cast<std::size_t>(log.queries[p]) + 1];
    for (std::size_t q = 0; q < log.n_queries; ++q) first[q + 1] += first[q];
    std::vector<std::int64_t> next(first.begin(), first.end() - 1);
    for (std::size_t p = 0; p < log.pages; ++p) {
        order[static_cast<std::size_t>(next[static_cast<std::size_t>(log.queries[p])]++)] =
            static_cast<std::int64_t>(p);
    }
    Grouping out;
    Places known_pages, known_pairs;
    std::vector<std::int64_t> originals;  // where each different page was first seen in the log
    for (std::size_t q = 0; q < log.n_queries; ++q) {
        known_pages.clear(static_cast<std::size_t>(first[q + 1] - first[q]));
        std::int64_t rows = 0;
        for (std::int64_t at = first[q]; at < first[q + 1]; ++at) {
            const std::int64_t page = order[static_cast<std::size_t>(at)];
            const std::int64_t begin = log.offsets[page], size = log.offsets[page + 1] - begin;
            // Documents, positions and clicks all enter, in order: pages with the same list but other clicks differ.
            std::uint64_t hash = static_cast<std::uint64_t>(size);
            for (std::int64_t r = begin; r < begin + size; ++r) {
                hash = mix_bits(hash ^ (static_cast<std::uint64_t>(log.documents[r]) << 32 |
                                        static_cast<std::uint32_t>(log.positions[r]) << 1 | log.clicks[r]));
            }
            const auto alike = [&](std::int64_t kept) {
                const std::int64_t other = log.offsets[originals[static_cast<std::size_t>(kept)]];
                if (log.offsets[originals[static_cast<std::size_t>(kept)] + 1] - other != size) return false;
                for (std::int64_t r = 0; r < size; ++r) {
                    if (log.documents[begin + r] != log.documents[other + r] ||
                        log.positions[begin + r] != log.positions[other + r] ||
                        log.clicks[begin + r] != log.clicks[other + r]) {
                        return false;
                    }
                }
                return true;
            };
            const auto fresh = static_cast<std::int64_t>(originals.size());
            const std::int64_t found = known_pages.find_or_add(hash, fresh, alike);
            const double count = log.counts ? log.counts[page] : 1.0;
            if (found == fresh) {
                originals.push_back(page);
                out.counts.push_back(count);
                rows += size;
            } else {
                out.counts[static_cast<std::size_t>(found)] += count;
            }
        }
        known_pairs.clear(static_cast<std::size_t>(rows));
        for (std::size_t kept = static_cast<std::size_t>(out.query_pages.back()); kept < originals.size(); ++kept) {
            for (std::int64_t r = log.offsets[originals[kept]]; r < log.offsets[originals[kept] + 1]; ++r) {
                const std::int32_t document = log.documents[r];
                const auto fresh = static_cast<std::int64_t>(out.pair_documents.size());
                const std::int64_t pair = known_pairs.find_or_add(
                    mix_bits(static_cast<std::uint64_t>(document)), fresh, [&](std::int64_t other) {
                        return out.pair_documents[static_cast<std::size_t>(other)] == document;
                    });
                if (pair == fresh) out.pair_documents.push_back(document);
                out.pairs.push_back(static_cast<std::int32_t>(pair));
                out.positions.push_back(log.positions[r]);
                out.clicks.push_back(log.clicks[r]);
            }
            out.offsets.push_back(static_cast<std::int64_t>(out.pairs.size()));
        }
        out.query_pages.push_back(static_cast<std::int64_t>(originals.size()));
        out.query_pairs.push_back(static_cast<std::int64_t>(out.pair_documents.size()));
    }
    return out;
}

}  // namespace rankloop
