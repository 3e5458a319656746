// From pages in the order of a log to pages gathered by query, alike ones counted once, with their pairs numbered.
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

inline std::uint64_t mix_bits(std::uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Places of an open-addressing table: -1 is free, anything else an index that the caller compares.
class Places {
public:
    void clear(std::size_t items) {
        std::size_t size = 16;
        while (size < 2 * items) size *= 2;
        table_.assign(size, -1);
    }

    // The index already there for which same(index) holds, or `fresh`, which is put there.
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
    std::vector<std::int64_t> originals;  // of the pages kept
    for (std::size_t q = 0; q < log.n_queries; ++q) {
        known_pages.clear(static_cast<std::size_t>(first[q + 1] - first[q]));
        std::int64_t rows = 0;
        for (std::int64_t at = first[q]; at < first[q + 1]; ++at) {
            const std::int64_t page = order[static_cast<std::size_t>(at)];
            const std::int64_t begin = log.offsets[page], size = log.offsets[page + 1] - begin;
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
