// Joins parsed blocks, in the order of their text, to one table that keeps to a limit of memory.
#pragma once

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "letor/block.hpp"

namespace rankloop::letor {

// The rows need more memory than they may have.
struct LimitError : std::bad_alloc {};

class Joiner {
public:
    explicit Joiner(const Options& options)
        : options_(options),
          base_(options.base < 0 ? 1 : options.base),
          width_(static_cast<std::size_t>(options.n_features)) {}

    // Starts a table with the rows that the last one left; `reserved` bytes of the limit are not for it.
    void start(std::size_t reserved) {
        table_ = std::move(rest_);
        rest_ = Table{};
        table_.x.width = width_, table_.sparse = options_.sparse;
        reserved_ = reserved;
        met_limit_ = false;
    }

    // Adds a block's rows. A bad row, unless they are skipped, becomes the table's error.
    void join(Block& block) {
        const std::int64_t lines_before = lines_;
        lines_ += block.lines;
        if (block.rows() > 0) append(block, lines_before);
        if (table_.error) return;
        table_.bad.n += block.bad.n - static_cast<std::int64_t>(block.bad.first.size());
        for (auto& bad : block.bad.first) {
            bad.line += lines_before;
            if (!options_.skip_bad) {
                table_.error = std::move(bad);
                return;
            }
            table_.bad.add(std::move(bad));
        }
    }

    // Gives the table away, save the last query where more of its rows may follow.
    Table finish(bool text_is_over) {
        width_ = table_.x.width;
        tell_of_missing_id();
        if (!text_is_over && !table_.error) rest_ = table_.split_last_query();
        return std::exchange(table_, Table{});
    }

    void discard() { table_ = Table{}; }

    void check_fits(std::size_t more) { check_fits(table_.amount(), more); }

    const Table& table() const { return table_; }
    bool has_rest() const { return rest_.x.rows > 0; }
    bool met_limit() const { return met_limit_; }
    std::size_t width() const { return width_; }
    int base() const { return base_; }
    std::int64_t lines() const { return lines_; }

private:
    const Options& options_;
    int base_;
    std::size_t width_;
    Table table_, rest_;
    std::size_t reserved_ = 0;
    bool met_limit_ = false;
    std::int64_t lines_ = 0;
    std::int64_t largest_index_ = -1, largest_line_ = 0;
    bool ids_seen_ = false;
    std::int64_t first_line_without_id_ = 0;
    std::optional<BadRow> lacks_id_;  // the first row of this table that was left out for it

    void append(const Block& block, std::int64_t lines_before) {
        if (!fit_width(block, lines_before)) return;
        Amount all = table_.amount();
        all.rows += block.rows(), all.runs += block.runs.size();
        all.run_bytes += block.runs.ids.bytes.size(), all.doc_bytes += block.doc_ids.bytes.size();
        all.entries += block.entries.size();
        check_fits(all, 0);
        for (std::size_t i = 0; i < block.runs.size() && !table_.error; ++i) {
            const auto first = static_cast<std::size_t>(block.runs.starts[i]);
            const auto end =
                i + 1 < block.runs.size() ? static_cast<std::size_t>(block.runs.starts[i + 1]) : block.rows();
            if (may_stand(block.runs.ids[i], lines_before + block.run_lines[i], end - first))
                append_run(block, i, first, end);
        }
    }

    // Whether a run of rows can be kept: either all rows have query ids, or none.
    bool may_stand(std::string_view id, std::int64_t line, std::size_t n) {
        if (!id.empty() && !ids_seen_) {  // the rows before it have none
            ids_seen_ = true;
            if (table_.x.rows > 0) leave_out(first_line_without_id_, table_.x.rows);
            table_.clear_rows();
        }
        if (!id.empty()) return !table_.error;
        if (ids_seen_) leave_out(line, n);
        if (table_.x.rows == 0) first_line_without_id_ = line;
        return !ids_seen_;
    }

    void leave_out(std::int64_t line, std::size_t rows) {
        BadRow bad{line, "the row has no query id, while others have; expected for example 'qid:10'"};
        if (options_.skip_bad) {
            table_.bad.n += static_cast<std::int64_t>(rows);
            if (!lacks_id_) lacks_id_ = std::move(bad);
        } else {
            table_.error = std::move(bad);
        }
    }

    // Puts the first row without a query id among the first bad rows.
    void tell_of_missing_id() {
        if (!lacks_id_) return;
        auto& first = table_.bad.first;
        first.insert(std::ranges::lower_bound(first, lacks_id_->line, {}, &BadRow::line), *lacks_id_);
        lacks_id_.reset();
    }

    void append_run(const Block& block, std::size_t run, std::size_t first, std::size_t end) {
        const std::size_t before = table_.x.rows;
        append_features(block, first, end);
        table_.labels.append(block.labels.data() + first, end - first);
        if (!table_.runs.last_is(block.runs.ids[run])) table_.runs.add(block.runs.ids[run], before);
        for (std::size_t r = first; r < std::min(end, block.doc_ids.size()); ++r) {
            if (block.doc_ids[r].empty()) continue;
            table_.doc_ids.pad_to(before + r - first);
            table_.doc_ids.add(block.doc_ids[r]);
        }
    }

    void append_features(const Block& block, std::size_t first, std::size_t end) {
        auto& x = table_.x;
        if (options_.sparse) {
            table_.entries.append(block.entries, first, end, base_);
            x.rows += end - first;
            return;
        }
        const std::size_t base = static_cast<std::size_t>(base_), held = std::min(block.stride - base, x.width);
        float* row = x.append(end - first);
        for (std::size_t r = first; r < end; ++r, row += x.width) {
            std::copy_n(block.row(r) + base, held, row);
            std::fill(row + held, row + x.width, 0.0f);
        }
    }

    // Makes the table as wide as the block needs, shifting it where the first index 0 turns up.
    bool fit_width(const Block& block, std::int64_t lines_before) {
        auto& x = table_.x;
        if (block.max_index > largest_index_)
            largest_index_ = block.max_index, largest_line_ = block.max_line + lines_before;
        if (block.zero_index && base_ == 1) {
            base_ = 0;
            widen(options_.n_features ? x.width : x.width + 1, 1);
        }
        const std::size_t needed = largest_index_ < base_ ? 0 : static_cast<std::size_t>(largest_index_ + 1 - base_);
        if (needed > x.width) {
            if (options_.n_features) {
                table_.error = {largest_line_, "with a first index of 0, as in this file, the feature index " +
                                                   std::to_string(largest_index_) +
                                                   " is more than n_features=" + std::to_string(x.width) + " allows"};
                return false;
            }
            widen(needed, 0);
        }
        return true;
    }

    void widen(std::size_t width, std::size_t shift) {
        Amount amount = table_.amount();
        amount.width = width;
        check_fits(amount, 0);
        if (!options_.sparse) return table_.x.reshape(width, shift);
        table_.x.width = width;
        for (std::size_t k = 0; shift && k < table_.entries.size(); ++k)
            table_.entries.columns[k] += static_cast<std::int32_t>(shift);
    }

    void check_fits(const Amount& amount, std::size_t more) {
        const std::size_t needed = amount.bytes() + reserved_ + more;
        if (!options_.max_bytes || needed <= static_cast<std::size_t>(options_.max_bytes)) return;
        met_limit_ = true;
        throw LimitError();
    }
};

}  // namespace rankloop::letor
