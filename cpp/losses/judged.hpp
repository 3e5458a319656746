// The judged documents of a data set as the losses of all queries want them: best grade first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankloop {

struct Judged {
    std::vector<std::size_t> rows;            // judged rows of weight above 0, query after query, best grade first
    std::vector<double> grades, weights;      // of these rows
    std::vector<std::size_t> begin{0};        // where each query starts among them, and the end
    std::vector<std::size_t> level_begin{0};  // where the grades of each query start in `ends`, and the end
    std::vector<std::size_t> ends;            // where each grade ends, counted inside its query
    std::vector<double> query_weights;

    std::size_t queries() const { return begin.size() - 1; }
    std::size_t size(std::size_t q) const { return begin[q + 1] - begin[q]; }
    std::size_t levels(std::size_t q) const { return level_begin[q + 1] - level_begin[q]; }
    const std::size_t* level_ends(std::size_t q) const { return ends.data() + level_begin[q]; }

    // Null weights are all 1.
    Judged(const double* y, const std::int64_t* offsets, std::size_t n_queries, const double* doc_weights,
           const double* by_query) {
        for (std::size_t q = 0; q < n_queries; ++q) {
            const std::size_t first = rows.size();
            const double own = by_query ? by_query[q] : 1.0;
            for (auto i = static_cast<std::size_t>(offsets[q]); own > 0 && i < static_cast<std::size_t>(offsets[q + 1]);
                 ++i) {
                if (y[i] >= 0 && (!doc_weights || doc_weights[i] > 0)) rows.push_back(i);
            }
            std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                             [y](std::size_t i, std::size_t j) { return y[i] > y[j]; });
            for (std::size_t k = first; k < rows.size(); ++k) {
                grades.push_back(y[rows[k]]);
                weights.push_back(doc_weights ? doc_weights[rows[k]] : 1.0);
                if (k > first && grades[k] < grades[k - 1]) ends.push_back(k - first);
            }
            if (rows.size() > first) ends.push_back(rows.size() - first);
            begin.push_back(rows.size());
            level_begin.push_back(ends.size());
            query_weights.push_back(own);
        }
    }
};

}  // namespace rankloop
