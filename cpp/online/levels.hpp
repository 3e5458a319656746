// The documents of one query by grade: what every listwise update starts from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankloop {

constexpr std::size_t long_list = 512;        // documents; SOLAR takes the pairs of longer lists in tiles
constexpr std::size_t documents_a_side = 32;  // of a tile

// Judged documents by grade, best grade first, in row order inside a grade. Unjudged ones
// (grade < 0) are left out. O(m) for whole grades below 64, else O(m log m).
struct Levels {
    std::vector<std::uint32_t> documents;  // one grade after the other
    std::vector<std::size_t> starts;       // where each grade starts in `documents`; one more at the end
    std::vector<double> grades;            // best first

    std::size_t count() const { return grades.size(); }
    std::size_t judged() const { return documents.size(); }

    // With `binary`, every grade above 0 counts as 1.
    void gather(const double* y, std::size_t m, bool binary = false) {
        documents.clear(), starts.clear(), grades.clear();
        std::uint32_t counts[64] = {};
        bool small = true;
        for (std::size_t i = 0; i < m && small; ++i) {
            const double grade = binary && y[i] > 0 ? 1.0 : y[i];
            if (grade < 0) continue;
            small = grade < 64 && grade == static_cast<double>(static_cast<int>(grade));
            if (small) ++counts[static_cast<int>(grade)];
        }
        if (!small) return gather_any(y, m);
        std::size_t places[64], total = 0;
        for (int grade = 63; grade >= 0; --grade) {
            if (counts[grade] == 0) continue;
            grades.push_back(grade);
            starts.push_back(total);
            places[grade] = total;
            total += counts[grade];
        }
        starts.push_back(total);
        documents.resize(total);
        for (std::size_t i = 0; i < m; ++i) {
            if (y[i] < 0) continue;
            const int grade = binary && y[i] > 0 ? 1 : static_cast<int>(y[i]);
            documents[places[grade]++] = static_cast<std::uint32_t>(i);
        }
    }

private:
    void gather_any(const double* y, std::size_t m) {
        for (std::size_t i = 0; i < m; ++i) {
            if (y[i] >= 0) documents.push_back(static_cast<std::uint32_t>(i));
        }
        std::stable_sort(documents.begin(), documents.end(), [y](auto a, auto b) { return y[a] > y[b]; });
        for (std::size_t k = 0; k < documents.size(); ++k) {
            if (k == 0 || y[documents[k]] != grades.back()) {
                grades.push_back(y[documents[k]]);
                starts.push_back(k);
            }
        }
        starts.push_back(documents.size());
    }
};

}  // namespace rankloop
