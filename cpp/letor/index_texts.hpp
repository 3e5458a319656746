// Features whose indices count up by one, as in most rows: ` 1:0.5 2:0.25 3:7 `.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "letor/decimal.hpp"

namespace rankloop::letor {

// The texts ` 0:`, ` 1:`, ... as they stand in memory. Most rows count up, so comparing with the next
// one is faster than reading it.
struct IndexTexts {
    struct Entry {
        std::uint64_t text;
        std::uint64_t length;
    };
    std::array<Entry, 1000> entries{};

    constexpr IndexTexts() {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            std::uint64_t text = ':', length = 2;
            for (std::size_t rest = i; rest || length == 2; rest /= 10, ++length) text = text << 8 | ('0' + rest % 10);
            entries[i] = {text << 8 | ' ', length};
        }
    }
};

inline constexpr IndexTexts index_texts;

// Parses ` i:value i+1:value ...` from `index` on while the text is as plain as that, and i < end;
// returns where it stopped, at the blank before a feature, and leaves `index` there. A function of
// its own, without the words for what is wrong, keeps its few variables in registers.
inline const char* read_counting_up(const char* p, float* x, std::size_t& index, std::size_t end) {
    std::size_t i = index;
    for (end = std::min(end, index_texts.entries.size()); i < end; ++i) {
        const auto& expected = index_texts.entries[i];
        std::uint64_t t;
        std::memcpy(&t, p, 8);
        if ((t ^ expected.text) << (64 - 8 * expected.length)) break;
        double value;
        const char* const stop = read_short_decimal(p + expected.length, value);
        if (!stop) break;
        x[i] = static_cast<float>(value);
        p = stop;
    }
    index = i;
    return p;
}

}  // namespace rankloop::letor
