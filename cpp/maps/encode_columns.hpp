// Columns as a description of features has them (codes of categories, NaN for missing values) become columns for linear
// rankers: numbers without gaps, marks of missing values, and one column of 0 and 1 for each code of a category.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankloop {

// What becomes of each column. A number x becomes origin + slope x, or `filled` where it is missing, limited to low ..
// high, in the column `first`; where there is one, the column `mark` becomes 1 where it is missing. A category of `codes`
// codes has a column for each, from `first` on, which becomes 1, or `slope` for a code from `mark` on; a missing or
// unknown code leaves all of them 0. One without codes (-1) becomes nothing.
struct EncodedColumns {
    const std::int32_t* places;  // a column: first, codes (0: a number), mark (-1: none)
    const float* numbers;        // a column: slope, origin, filled, low, high
    std::size_t d;
};

class ColumnEncoder {
public:
    explicit ColumnEncoder(EncodedColumns columns) : columns_(columns) {}

    // Calls body(column, value) for all that is not 0, in the order of the description.
    template <typename Body>
    void each(const float* row, const Body& body) const {
        for (std::size_t j = 0; j < columns_.d; ++j) {
            const std::int32_t* const place = columns_.places + 3 * j;
            if (place[1] == 0) {
                number(row[j], place, columns_.numbers + 5 * j, body);
            } else if (row[j] >= 0 && row[j] < static_cast<float>(place[1])) {  // neither is true of NaN
                const auto code = static_cast<std::int32_t>(row[j]);
                body(place[0] + code, code < place[2] ? 1.0f : columns_.numbers[5 * j]);
            }
        }
    }

    // The same with rising columns; several columns of one list may hold the same code.
    void sorted(const float* row) {
        entries.clear();
        each(row, [this](std::int32_t column, float value) { entries.push_back({column, value}); });
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
        const auto same = [](const Entry& a, const Entry& b) { return a.column == b.column; };
        entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    }

    struct Entry {
        std::int32_t column;
        float value;
    };
    std::vector<Entry> entries;  // of the last row

private:
    EncodedColumns columns_;

    template <typename Body>
    static void number(float x, const std::int32_t* place, const float* by, const Body& body) {
        const bool absent = std::isnan(x);
        const float value = std::clamp(absent ? by[2] : by[1] + by[0] * x, by[3], by[4]);
        if (value != 0) body(place[0], value);
        if (absent && place[2] >= 0) body(place[2], 1.0f);
    }
};

}  // namespace rankloop
