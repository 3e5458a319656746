// One way to take texts apart, with tables of its own: words in lower case without accents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "features/hash.hpp"
#include "features/unicode.hpp"

namespace rankloop::features {

// The next character of UTF-8, or U+FFFD for a byte that is none; moves p on.
inline std::uint32_t next_character(const char*& p, const char* end) {
    const auto first = static_cast<unsigned char>(*p++);
    if (first < 0x80) return first;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (more == 0 || end - p < more) return 0xfffd;
    std::uint32_t code = first & (0x3f >> more);
    for (int i = 0; i < more; ++i) code = code << 6 | (static_cast<unsigned char>(p[i]) & 0x3f);
    p += more;
    return code;
}

// The plain form of a character; 0 for one between words, 1 for a mark that is left out.
inline std::uint32_t plain_character(std::uint32_t c) {
    if (c < 128) {
        if (c >= 'A' && c <= 'Z') return c + 32;
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : 0;
    }
    const Run* const after = std::upper_bound(std::begin(runs), std::end(runs), c,
                                              [](std::uint32_t x, const Run& run) { return x < run.first; });
    const std::int32_t change = (after - 1)->change;
    return change == separator ? 0 : change == skip ? 1 : c + static_cast<std::uint32_t>(change);
}

// Chinese and Japanese are written without spaces: each character is a word.
inline bool is_word_alone(std::uint32_t c) {
    return (c >= 0x3041 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

// Calls word(first, last) with the plain characters of each word.
template <typename Word>
void each_word(std::string_view text, Word word) {
    std::vector<std::uint32_t> letters;
    const auto finish = [&] {
        if (!letters.empty()) word(letters.data(), letters.data() + letters.size());
        letters.clear();
    };
    for (const char *p = text.data(), *end = p + text.size(); p < end;) {
        const std::uint32_t c = plain_character(next_character(p, end));
        if (c == 1) continue;
        if (c == 0 || is_word_alone(c)) finish();
        if (c) letters.push_back(c);
        if (is_word_alone(c)) finish();
    }
    finish();
}

inline std::uint32_t hash_letters(const std::uint32_t* first, const std::uint32_t* last) {
    return static_cast<std::uint32_t>(
        hash_text({reinterpret_cast<const char*>(first), static_cast<std::size_t>(last - first) * sizeof(*first)}));
}

// The words of a text, each as a number of 32 bits, in their order.
inline std::vector<std::uint32_t> terms_of(std::string_view text) {
    std::vector<std::uint32_t> terms;
    each_word(text, [&](const std::uint32_t* first, const std::uint32_t* last) {
        terms.push_back(hash_letters(first, last));
    });
    return terms;
}

// The different groups of three characters of a text, with a space before and after each word; sorted.
inline std::vector<std::uint32_t> trigrams_of(std::string_view text) {
    std::vector<std::uint32_t> line{' '}, grams;
    each_word(text, [&](const std::uint32_t* first, const std::uint32_t* last) {
        line.insert(line.end(), first, last);
        line.push_back(' ');
    });
    for (std::size_t i = 0; i + 3 <= line.size(); ++i) grams.push_back(hash_letters(&line[i], &line[i] + 3));
    std::sort(grams.begin(), grams.end());
    grams.erase(std::unique(grams.begin(), grams.end()), grams.end());
    return grams;
}

}  // namespace rankloop::features
