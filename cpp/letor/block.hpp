// LETOR / SVMlight text to rows: `grade qid:ID index:value ... # docid = ID`, one block of whole lines.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "letor/decimal.hpp"

namespace rankloop::letor {

constexpr std::size_t padding = 64;  // bytes that may be read past the last newline

struct Options {
    std::int64_t n_features = 0;  // 0: as many as are found
    int base = -1;                // index of the first feature; -1: 1, unless a 0 turns up
    float null_value = 0;         // stands for NULL and for values as large as a double can be
    std::int64_t max_index = 100'000;
    std::int64_t max_bytes = 0;  // of the matrix; 0: no limit
    bool skip_bad = false;
    bool doc_ids = true;
};

struct BadRow {
    std::int64_t line;
    std::string message;
};

struct Run {  // consecutive rows of one query
    std::string id;
    bool has_id;
    std::int64_t first_row, line;
};

struct Block {
    std::size_t stride = 0;  // columns a row; column c holds index c, so column 0 is mostly unused
    std::int64_t max_index = -1, max_line = 0;  // the largest index and the first line that has it
    bool zero_index = false;
    std::vector<float> values;  // room for more rows than there are
    std::vector<double> labels;
    std::vector<Run> runs;
    std::string doc_ids;                // one after the other
    std::vector<std::size_t> doc_ends;  // where each row's ends
    std::int64_t lines = 0;
    std::vector<BadRow> bad;

    std::size_t rows() const { return labels.size(); }
    const float* row(std::size_t r) const { return values.data() + r * stride; }
};

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

class BlockParser {
public:
    explicit BlockParser(const Options& options) : options_(options) {}

    // Parses text that ends in a newline and is followed by `padding` readable bytes. Stops at the
    // first bad row unless they are to be skipped. The block is good until the next call.
    Block& parse(const char* p, const char* end, std::size_t width_hint) {
        start_over(width_hint);
        while (p < end) {
            ++block_.lines;
            const char* const stop = line(p);
            if (!stop && !options_.skip_bad) break;
            p = (stop ? stop : newline(p)) + 1;
        }
        return block_;
    }

private:
    const Options& options_;
    Block block_;

    void start_over(std::size_t width_hint) {
        Block fresh;
        fresh.stride = std::max<std::size_t>(width_hint, 1) + 1;
        fresh.values.swap(block_.values);  // keep the memory: new pages cost as much as parsing
        block_ = std::move(fresh);
    }

    // How many floats to hold where `needed` are: some more, but within the limit (or 1 MB).
    std::size_t room(std::size_t needed) const {
        constexpr std::int64_t least = 1 << 20;
        const std::size_t most = options_.max_bytes ? static_cast<std::size_t>(std::max(options_.max_bytes, least)) / sizeof(float) : SIZE_MAX;
        if (needed > most) throw std::bad_alloc();
        return std::min(2 * needed, most);
    }

    static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    static bool ends(char c) { return blank(c) || c == '\n' || c == '#'; }
    static const char* skip_blanks(const char* p) {
        while (blank(*p)) ++p;
        return p;
    }

    static std::string_view token(const char* p) {
        const char* q = p;
        while (!blank(*q) && *q != '\n') ++q;
        return {p, static_cast<std::size_t>(q - p)};
    }

    static std::string quoted(const char* p) {
        std::string text = "'";
        for (const char c : token(p).substr(0, 40)) {
            static constexpr char hex[] = "0123456789abcdef";
            if (c >= 0x20 && c < 0x7f) {
                text += c;
            } else {
                (text += "\\x") += {hex[(c >> 4) & 15], hex[c & 15]};
            }
        }
        return text + (token(p).size() > 40 ? "...'" : "'");
    }

    const char* fail(std::string message) {
        block_.bad.push_back({block_.lines, std::move(message)});
        return nullptr;
    }

    // Parses one line; returns its newline, or nullptr where the row is bad and has left no trace.
    const char* line(const char* p) {
        p = skip_blanks(p);
        if (*p == '\n') return p;
        if (*p == '#') return newline(p);
        double label;
        const char* q = read_decimal(p, label);
        if (!q || !ends(*q) || !std::isfinite(label)) {
            return fail("found " + quoted(p) + " where the grade should be; expected a finite number, as in " +
                        "'2 qid:10 1:0.5 2:0.25'");
        }
        p = skip_blanks(q);
        std::string_view id;
        const bool has_id = std::memcmp(p, "qid:", 4) == 0;
        if (has_id) {
            id = token(p + 4);
            if (const auto comment = id.find('#'); comment != id.npos) id = id.substr(0, comment);
            if (id.empty()) return fail("found 'qid:' without an id; expected for example 'qid:10'");
            if (!is_utf8(id)) return fail("the query id " + quoted(p + 4) + " is not UTF-8 text");
            p += 4 + id.size();
        }
        const std::size_t row = block_.rows();
        if (block_.values.size() < (row + 1) * block_.stride) block_.values.resize(room((row + 1) * block_.stride));
        const char* const stop = features(p, row);
        if (!stop) return nullptr;
        block_.labels.push_back(label);
        if (row == 0 || block_.runs.back().has_id != has_id || block_.runs.back().id != id) {
            block_.runs.push_back({std::string(id), has_id, static_cast<std::int64_t>(row), block_.lines});
        }
        const char* const end = *stop == '#' ? newline(stop) : stop;
        if (options_.doc_ids) {
            if (*stop == '#') block_.doc_ids += doc_id({stop, static_cast<std::size_t>(end - stop)});
            block_.doc_ends.push_back(block_.doc_ids.size());
        }
        return end;
    }

    // Parses `index:value ...` into a row; returns the newline or comment that ends it.
    const char* features(const char* p, std::size_t row) {
        float* x = block_.values.data() + row * block_.stride;
        std::fill_n(x, block_.stride, 0.0f);
        const auto least = static_cast<std::uint64_t>(options_.base == 1);
        const auto most = static_cast<std::uint64_t>(
            options_.n_features ? options_.n_features - (options_.base == 0) : options_.max_index);
        const char* const start = p;
        bool ordered = true;
        std::int64_t previous = -1;
        std::int64_t largest = -1;
        bool zero = false;
        for (;;) {
            const auto first = static_cast<std::size_t>(previous < 0 ? 1 : previous + 1);
            std::size_t next = first;
            p = read_counting_up(p, x, next, std::min<std::size_t>(block_.stride, most + 1));
            if (next > first) {
                previous = static_cast<std::int64_t>(next) - 1;
                largest = std::max(largest, previous);
            }
            p = skip_blanks(p);
            if (*p == '\n' || *p == '#') break;
            std::uint64_t index;
            const unsigned n = read_digits(p, index);
            if (n == 0 || p[n] != ':') return fail(bad_feature(p));
            if (index < least || index > most) return fail(outside(p, least, most));
            if (index >= block_.stride) x = widen(index, row);
            ordered &= static_cast<std::int64_t>(index) > previous;
            previous = static_cast<std::int64_t>(index);
            largest = std::max(largest, previous);
            zero |= index == 0;
            const char* const text = p + n + 1;
            double value;
            p = read_short_decimal(text, value);
            if (p) {
                x[index] = static_cast<float>(value);
            } else {
                p = unusual_value(text, index, x[index]);
                if (!p) return nullptr;
            }
        }
        if (!ordered) {
            const std::int64_t twice = repeated_index(start);
            if (twice >= 0) {
                return fail("feature " + std::to_string(twice) + " stands twice in the row; expected each index once");
            }
        }
        block_.zero_index |= zero;
        if (largest > block_.max_index) block_.max_index = largest, block_.max_line = block_.lines;
        return p;
    }

    const char* unusual_value(const char* text, std::uint64_t index, float& x) {
        double value;
        const char* const stop = read_decimal(text, value);
        if (stop && ends(*stop)) {
            x = static_cast<float>(value);
            if (!std::isinf(x)) return stop;
            if (std::fabs(value) < 1e308) {
                return fail("feature " + std::to_string(index) + " is " + quoted(text) +
                            ", too large for a 32-bit float (3.4e38); scale or correct it");
            }
            x = options_.null_value;
            return stop;
        }
        if (is_null(text)) {
            x = options_.null_value;
            return text + 4;
        }
        return fail("feature " + std::to_string(index) + " is " + quoted(text) +
                    "; expected a finite number, or NULL where it is missing");
    }

    // The smallest index that stands twice in a row known to be well formed, or -1.
    static std::int64_t repeated_index(const char* p) {
        std::vector<std::uint64_t> seen;
        for (p = skip_blanks(p); *p != '\n' && *p != '#'; p = skip_blanks(p)) {
            std::uint64_t index;
            read_digits(p, index);
            seen.push_back(index);
            while (!ends(*p)) ++p;
        }
        std::sort(seen.begin(), seen.end());
        const auto twice = std::adjacent_find(seen.begin(), seen.end());
        return twice == seen.end() ? -1 : static_cast<std::int64_t>(*twice);
    }

    float* widen(std::size_t index, std::size_t row) {
        const std::size_t stride = std::max(index + 1, std::min(2 * block_.stride, static_cast<std::size_t>(options_.max_index) + 1));
        std::vector<float> values(room((row + 1) * stride));
        for (std::size_t r = 0; r <= row; ++r) std::copy_n(block_.row(r), block_.stride, values.data() + r * stride);
        block_.values = std::move(values);
        block_.stride = stride;
        return block_.values.data() + row * stride;
    }

    std::string bad_feature(const char* p) const {
        if (std::memcmp(p, "qid:", 4) == 0) {
            return "found " + quoted(p) + " among the features; the query id comes right after the grade";
        }
        return "found " + quoted(p) + " where a feature should be; expected index:value, as in 3:0.25";
    }

    std::string outside(const char* p, std::uint64_t least, std::uint64_t most) const {
        return "the feature index of " + quoted(p) + " is outside " + std::to_string(least) + " to " +
               std::to_string(most) + "; correct it, or change " +
               (options_.n_features ? "n_features or zero_based" : "max_index");
    }

    static bool is_null(const char* p) {
        return (p[0] | 0x20) == 'n' && (p[1] | 0x20) == 'u' && (p[2] | 0x20) == 'l' && (p[3] | 0x20) == 'l' && ends(p[4]);
    }

    static const char* newline(const char* p) {
        while (*p != '\n') ++p;
        return p;
    }

    // The id in `#docid = GX01 inc = 1` or `# docid=GX01`; empty where there is none.
    static std::string_view doc_id(std::string_view comment) {
        const auto at = comment.find("docid");
        if (at == comment.npos) return {};
        std::size_t i = at + 5;
        while (i < comment.size() && blank(comment[i])) ++i;
        if (i == comment.size() || comment[i] != '=') return {};
        ++i;
        while (i < comment.size() && blank(comment[i])) ++i;
        std::size_t j = i;
        while (j < comment.size() && !blank(comment[j])) ++j;
        const auto id = comment.substr(i, j - i);
        return is_utf8(id) ? id : std::string_view{};
    }

    static bool is_utf8(std::string_view text) {
        for (std::size_t i = 0; i < text.size();) {
            const auto lead = static_cast<unsigned char>(text[i]);
            const int more = lead < 0x80 ? 0 : lead >= 0xC2 && lead < 0xE0 ? 1 : (lead & 0xF0) == 0xE0 ? 2 : lead >= 0xF0 && lead < 0xF5 ? 3 : -1;
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
};

}  // namespace rankloop::letor
