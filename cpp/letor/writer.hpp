// Rows to LETOR text: the shortest digits that read back as the same number.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "linalg/csr.hpp"

namespace rankloop::letor {

template <typename T>
void append_number(std::string& text, T value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_feature(std::string& text, long long index, float value) {
    text += ' ';
    append_number(text, index);
    text += ':';
    if (std::isnan(value)) {
        text += "NULL";
    } else {
        append_number(text, value);
    }
}

// One line a row; append_features(text, row) writes those of one. A missing value (NaN) is written as NULL.
template <typename AppendFeatures>
std::string format_lines(const double* y, std::size_t rows, const std::vector<std::string>& query_ids,
                         const std::vector<std::string>* doc_ids, const AppendFeatures& append_features) {
    std::string text;
    for (std::size_t r = 0; r < rows; ++r) {
        append_number(text, y[r]);
        (text += " qid:") += query_ids[r];
        append_features(text, r);
        if (doc_ids && !(*doc_ids)[r].empty()) (text += " #docid = ") += (*doc_ids)[r];
        text += '\n';
    }
    return text;
}

// `sparse` leaves zeros out.
inline std::string format_rows(const float* x, const double* y, std::size_t rows, std::size_t width,
                               const std::vector<std::string>& query_ids, const std::vector<std::string>* doc_ids,
                               int base, bool sparse) {
    return format_lines(y, rows, query_ids, doc_ids, [&](std::string& text, std::size_t r) {
        const float* const row = x + r * width;
        for (std::size_t c = 0; c < width; ++c) {
            if (!sparse || row[c] != 0) append_feature(text, static_cast<long long>(c) + base, row[c]);
        }
    });
}

inline std::string format_rows(const Csr& x, const double* y, const std::vector<std::string>& query_ids,
                               const std::vector<std::string>* doc_ids, int base) {
    return format_lines(y, x.n, query_ids, doc_ids, [&](std::string& text, std::size_t r) {
        for (std::size_t k = x.start(r); k < x.start(r + 1); ++k)
            append_feature(text, static_cast<long long>(x.columns[k]) + base, x.values[k]);
    });
}

}  // namespace rankloop::letor
