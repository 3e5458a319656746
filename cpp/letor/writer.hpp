// Rows to LETOR text: the shortest digits that read back as the same number.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace rankloop::letor {

template <typename T>
void append_number(std::string& text, T value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// One line a row; `sparse` leaves zeros out. A missing value (NaN) is written as NULL.
inline std::string format_rows(const float* x, const double* y, std::size_t rows, std::size_t width,
                               const std::vector<std::string>& query_ids, const std::vector<std::string>* doc_ids,
                               int base, bool sparse) {
    std::string text;
    for (std::size_t r = 0; r < rows; ++r, x += width) {
        append_number(text, y[r]);
        (text += " qid:") += query_ids[r];
        for (std::size_t c = 0; c < width; ++c) {
            if (sparse && x[c] == 0) continue;
            text += ' ';
            append_number(text, static_cast<long long>(c) + base);
            text += ':';
            if (std::isnan(x[c])) {
                text += "NULL";
            } else {
                append_number(text, x[c]);
            }
        }
        if (doc_ids && !(*doc_ids)[r].empty()) (text += " #docid = ") += (*doc_ids)[r];
        text += '\n';
    }
    return text;
}

}  // namespace rankloop::letor
