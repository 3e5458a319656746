// Characters, words and ids of LETOR text. A line ends in a newline, which every function relies on.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankloop::letor {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Whether a word ends here. A `#` does not end it: a comment has a blank before it, or starts the line.
inline bool ends_word(char c) { return is_blank(c) || c == '\n'; }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

inline const char* find_newline(const char* p) {
    while (*p != '\n') ++p;
    return p;
}

inline std::string_view word_at(const char* p) {
    const char* q = p;
    while (!ends_word(*q)) ++q;
    return {p, static_cast<std::size_t>(q - p)};
}

// A word for an error message: at most 40 bytes of it, others than printable ASCII as `\xc3`.
inline std::string quoted(std::string_view word) {
    std::string text = "'";
    for (const char c : word.substr(0, 40)) {
        static constexpr char hex[] = "0123456789abcdef";
        if (c >= 0x20 && c < 0x7f) {
            text += c;
        } else {
            (text += "\\x") += {hex[(c >> 4) & 15], hex[c & 15]};
        }
    }
    return text + (word.size() > 40 ? "...'" : "'");
}

inline bool equal_ignoring_case(std::string_view word, std::string_view lower) {
    if (word.size() != lower.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] + 32) : word[i];
        if (c != lower[i]) return false;
    }
    return true;
}

// Whether a word is how C libraries print what is not a number: `nan`, `-nan`, and Microsoft's
// `1.#QNAN`, `1.#SNAN` and `1.#IND`, perhaps cut off by rounding or filled with zeros, as in `-1.#IND00`.
inline bool spells_nan(std::string_view word) {
    if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
    if (equal_ignoring_case(word, "nan")) return true;
    while (!word.empty() && word.back() == '0') word.remove_suffix(1);
    for (const std::string_view name : {"1.#qnan", "1.#snan", "1.#ind"}) {
        if (equal_ignoring_case(word, name)) return true;
    }
    return false;
}

inline bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const int more = lead < 0x80                   ? 0
                         : lead >= 0xC2 && lead < 0xE0 ? 1
                         : (lead & 0xF0) == 0xE0       ? 2
                         : lead >= 0xF0 && lead < 0xF5 ? 3
                                                       : -1;
        if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return more == 0;
        std::uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
        for (int k = 1; k <= more; ++k) {
            const auto c = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
            if ((c & 0xC0) != 0x80) return false;
            point = point << 6 | (c & 0x3Fu);
        }
        static constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
        i += static_cast<std::size_t>(more) + 1;
    }
    return true;
}

// The id in `#docid = GX01 inc = 1` or `# docid=GX01`; empty where there is none.
inline std::string_view doc_id(std::string_view comment) {
    const auto at = comment.find("docid");
    if (at == comment.npos) return {};
    std::size_t i = at + 5;
    while (i < comment.size() && is_blank(comment[i])) ++i;
    if (i == comment.size() || comment[i] != '=') return {};
    ++i;
    while (i < comment.size() && is_blank(comment[i])) ++i;
    std::size_t j = i;
    while (j < comment.size() && !is_blank(comment[j])) ++j;
    const auto id = comment.substr(i, j - i);
    return is_utf8(id) ? id : std::string_view{};
}

// Whether an id is a whole number as it would be written again: not `007`, `+7` or `-0`.
inline bool plain_number(std::string_view id, std::int64_t& value) {
    const std::string_view digits = id.starts_with('-') ? id.substr(1) : id;
    if (digits.empty() || (digits[0] == '0' && id.size() > 1)) return false;
    const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    return error == std::errc{} && stop == id.data() + id.size();
}

}  // namespace rankloop::letor
