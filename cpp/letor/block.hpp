// LETOR / SVMlight text to rows: `grade qid:ID index:value ... # docid = ID`, a block of whole lines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "letor/decimal.hpp"
#include "letor/index_texts.hpp"
#include "letor/table.hpp"
#include "letor/text.hpp"

namespace rankloop::letor {

constexpr std::size_t padding = 64;  // bytes that may be read past the last newline

struct Options {
    std::int64_t n_features = 0;  // 0: as many as are found
    int base = -1;                // index of the first feature; -1: 1, unless a 0 turns up
    float null_value = 0;         // stands for NULL and the largest double; NaN: for nan as well
    std::int64_t max_index = 100'000;
    std::int64_t max_bytes = 0;  // what reading may take; 0: no limit
    bool skip_bad = false;
    bool doc_ids = true;
    bool sparse = false;  // rows keep their nonzeros alone
};

// Rows parsed from a piece of text; rows, lines and runs are counted from its start.
struct Block {
    std::size_t stride = 0;                     // columns a row; column c holds index c, so column 0 is mostly unused
    std::int64_t max_index = -1, max_line = 0;  // the largest index and the first line that has it
    bool zero_index = false;
    Growing<float> values;
    bool sparse = false;
    Entries entries;  // of sparse rows, by index
    Growing<double> labels;
    Runs runs;
    Growing<std::int64_t> run_lines;  // the line of each run's first row
    Texts doc_ids;                    // up to the last row that has one
    std::int64_t lines = 0;
    BadRows bad;
    std::size_t wanted = 0;  // bytes that the next row needs, where not even that one had room

    std::size_t rows() const { return labels.size(); }
    const float* row(std::size_t r) const { return values.data() + r * stride; }
    // What the rows take, short document ids aside, which the text bounds.
    std::size_t bytes() const { return rows_bytes() + runs.size() * 24 + runs.ids.bytes.size(); }
    std::size_t rows_bytes() const {
        return sparse ? rows() * 2 * sizeof(double) + entries.size() * Entries::an_entry : rows() * row_bytes(stride);
    }
    static std::size_t row_bytes(std::size_t stride) { return stride * sizeof(float) + sizeof(double); }

    void clear(std::size_t new_stride) {  // keeps the memory: new pages cost as much as parsing
        stride = new_stride;
        max_index = -1, max_line = 0, zero_index = false, lines = 0, wanted = 0;
        values.clear(), entries.clear(), labels.clear(), runs.clear(), run_lines.clear(), doc_ids.clear();
        bad = {};
    }
};

class BlockParser {
public:
    explicit BlockParser(const Options& options) : options_(options) { block_.sparse = options.sparse; }

    // Parses lines from p on and returns where it stopped: at the end, at the first bad row unless they
    // are to be skipped, or before a row for which `room` bytes do not suffice. The text ends in a newline
    // and is followed by `padding` readable bytes. The block is good until the next call.
    const char* parse(const char* p, const char* end, std::size_t width_hint, std::size_t room) {
        block_.clear(std::max({width_hint + 1, stride_wanted_, std::size_t{2}}));
        stride_wanted_ = 0;
        room_ = room;
        while (p < end) {
            if (!has_room(block_.stride)) break;
            ++block_.lines;
            const char* const stop = line(p);
            if (stride_wanted_) {  // the row was not read, and has left no trace
                --block_.lines;
                break;
            }
            if (!stop && !options_.skip_bad) break;
            p = (stop ? stop : find_newline(p)) + 1;
        }
        return p;
    }

    Block& block() { return block_; }

private:
    const Options& options_;
    Block block_;
    std::size_t room_ = 0;
    std::size_t stride_wanted_ = 0;  // of the row before which the last piece ended

    // Whether one more row fits, all rows being so wide.
    bool has_room(std::size_t stride) {
        if (options_.sparse) return block_.rows() == 0 || block_.bytes() < room_;  // the text bounds what one row takes
        const std::size_t wider = (stride - block_.stride) * sizeof(float) * block_.rows();
        if (block_.bytes() + wider + Block::row_bytes(stride) <= room_) return true;
        if (block_.rows() == 0) block_.wanted = Block::row_bytes(stride);
        return false;
    }

    const char* fail(std::string message) {
        block_.bad.add({block_.lines, std::move(message)});
        return nullptr;
    }

    // Parses one line; returns its newline, or nullptr where the row is bad and has left no trace.
    const char* line(const char* p) {
        p = skip_blanks(p);
        if (*p == '\n') return p;
        if (*p == '#') return find_newline(p);
        double label;
        const char* q = read_decimal(p, label);
        if (!q || !ends_word(*q) || !std::isfinite(label)) {
            return fail("found " + quoted(word_at(p)) + " where the grade should be; expected a finite number, as in " +
                        "'2 qid:10 1:0.5 2:0.25'");
        }
        p = skip_blanks(q);
        std::string_view id;
        if (std::memcmp(p, "qid:", 4) == 0) {
            id = word_at(p + 4);
            if (id.empty()) return fail("found 'qid:' without an id; expected for example 'qid:10'");
            if (id.find('#') != id.npos) {
                return fail("the query id " + quoted(id) +
                            " has a '#'; put a blank before a comment, or rename the query");
            }
            if (!is_utf8(id)) return fail("the query id " + quoted(id) + " is not UTF-8 text");
            p += 4 + id.size();
        }
        const std::size_t row = block_.rows();
        const char* const stop = options_.sparse ? sparse_features(p) : features(p, row);
        if (!stop) return nullptr;
        block_.labels.push(label);
        if (!block_.runs.last_is(id)) {
            block_.runs.add(id, row);
            block_.run_lines.push(block_.lines);
        }
        if (*stop != '#') return stop;
        const char* const end = find_newline(stop);
        const auto doc = options_.doc_ids ? doc_id({stop, static_cast<std::size_t>(end - stop)}) : std::string_view{};
        if (!doc.empty()) {
            block_.doc_ids.pad_to(row);
            block_.doc_ids.add(doc);
        }
        return end;
    }

    // Parses `index:value ...` into a row; returns the newline or comment that ends it.
    const char* features(const char* p, std::size_t row) {
        block_.values.resize((row + 1) * block_.stride);
        float* x = block_.values.data() + row * block_.stride;
        std::fill_n(x, block_.stride, 0.0f);
        const std::uint64_t least = least_index(), most = max_index();
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
            if (index >= block_.stride) {
                x = widen(index, row);
                if (!x) return nullptr;
            }
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
        if (!ordered && !each_index_once(start, largest)) return nullptr;
        block_.zero_index |= zero;
        if (largest > block_.max_index) block_.max_index = largest, block_.max_line = block_.lines;
        return p;
    }

    std::uint64_t least_index() const { return options_.base == 1; }
    std::uint64_t max_index() const {
        return static_cast<std::uint64_t>(options_.n_features ? options_.n_features - (options_.base == 0)
                                                              : options_.max_index);
    }

    // Parses `index:value ...` into the entries of a sparse row, by index, without those that are 0.
    const char* sparse_features(const char* p) {
        Entries& entries = block_.entries;
        const std::uint64_t least = least_index(), most = max_index();
        const std::size_t first = entries.size();
        const char* const start = p;
        std::int64_t previous = -1, largest = -1;
        bool ordered = true, zero = false;
        const auto undo = [&] {
            entries.columns.resize(first), entries.values.resize(first);
            return nullptr;
        };
        for (p = skip_blanks(p); *p != '\n' && *p != '#'; p = skip_blanks(p)) {
            std::uint64_t index;
            const unsigned n = read_digits(p, index);
            if (n == 0 || p[n] != ':') return fail(bad_feature(p)), undo();
            if (index < least || index > most) return fail(outside(p, least, most)), undo();
            ordered &= static_cast<std::int64_t>(index) > previous;
            previous = static_cast<std::int64_t>(index);
            largest = std::max(largest, previous);
            zero |= index == 0;
            const char* const text = p + n + 1;
            double value;
            float x;
            p = read_short_decimal(text, value);
            if (p)
                x = static_cast<float>(value);
            else if (!(p = unusual_value(text, index, x)))
                return undo();
            if (x != 0) entries.add(static_cast<std::int32_t>(index), x);
        }
        if (!ordered) {
            if (!each_index_once(start, largest)) return undo();
            sort_entries(first);
        }
        entries.end_row();
        block_.zero_index |= zero;
        if (largest > block_.max_index) block_.max_index = largest, block_.max_line = block_.lines;
        return p;
    }

    void sort_entries(std::size_t first) {
        Entries& entries = block_.entries;
        std::vector<std::pair<std::int32_t, float>> row;
        for (std::size_t k = first; k < entries.size(); ++k) row.emplace_back(entries.columns[k], entries.values[k]);
        std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t k = first; k < entries.size(); ++k)
            entries.columns[k] = row[k - first].first, entries.values[k] = row[k - first].second;
    }

    bool each_index_once(const char* start, std::int64_t largest) {
        const std::int64_t twice = repeated_index(start, static_cast<std::size_t>(largest));
        if (twice >= 0) fail("feature " + std::to_string(twice) + " stands twice in the row; expected each index once");
        return twice < 0;
    }

    // Any value that is not as plain as most. One rule for what float32 cannot hold: it is an error, save
    // the largest double, 1.79769e308 with any more digits, by which Istella says that a value is missing.
    const char* unusual_value(const char* text, std::uint64_t index, float& x) {
        double value;
        const char* const stop = read_decimal(text, value);
        if (stop && ends_word(*stop)) {
            x = static_cast<float>(value);
            if (!std::isinf(x)) return stop;
            if (std::fabs(value) < 1.79769e308 || std::isinf(value)) {
                return fail("feature " + std::to_string(index) + " is " + quoted(word_at(text)) +
                            ", too large for a 32-bit float (3.4e38); scale or correct it");
            }
            x = options_.null_value;
            return stop;
        }
        const std::string_view word = word_at(text);
        const bool nan = spells_nan(word);
        if (!equal_ignoring_case(word, "null") && !(nan && std::isnan(options_.null_value))) {
            return fail("feature " + std::to_string(index) + " is " + quoted(word) +
                        "; expected a finite number, or NULL" +
                        (nan ? " (with nan as the value for NULL it is kept as missing)" : " where it is missing"));
        }
        x = options_.null_value;
        return text + word.size();
    }

    // The smallest index that stands twice in a row known to be well formed, or -1.
    static std::int64_t repeated_index(const char* p, std::size_t largest) {
        std::vector<bool> seen(largest + 1);
        std::size_t twice = largest + 1;
        for (p = skip_blanks(p); *p != '\n' && *p != '#'; p = skip_blanks(p)) {
            std::uint64_t index;
            read_digits(p, index);
            if (seen[index]) twice = std::min(twice, static_cast<std::size_t>(index));
            seen[index] = true;
            while (!ends_word(*p)) ++p;
        }
        return twice > largest ? -1 : static_cast<std::int64_t>(twice);
    }

    // Makes room for an index beyond those so far; nullptr where the rows would then be too large.
    float* widen(std::size_t index, std::size_t row) {
        const std::size_t old = block_.stride;
        const std::size_t stride =
            std::max(index + 1, std::min(2 * old, static_cast<std::size_t>(options_.max_index) + 1));
        if (!has_room(stride)) {
            stride_wanted_ = stride;
            return nullptr;
        }
        block_.values.resize((row + 1) * stride);
        float* const x = block_.values.data();
        for (std::size_t r = row + 1; r-- > 0;) {
            std::memmove(x + r * stride, x + r * old, old * sizeof(float));
            std::fill_n(x + r * stride + old, stride - old, 0.0f);
        }
        block_.stride = stride;
        return x + row * stride;
    }

    std::string bad_feature(const char* p) const {
        if (std::memcmp(p, "qid:", 4) == 0) {
            return "found " + quoted(word_at(p)) + " among the features; the query id comes right after the grade";
        }
        return "found " + quoted(word_at(p)) + " where a feature should be; expected index:value, as in 3:0.25";
    }

    std::string outside(const char* p, std::uint64_t least, std::uint64_t most) const {
        return "the feature index of " + quoted(word_at(p)) + " is outside " + std::to_string(least) + " to " +
               std::to_string(most) + "; correct it, or change " +
               (options_.n_features ? "n_features or zero_based" : "max_index");
    }
};

}  // namespace rankloop::letor
