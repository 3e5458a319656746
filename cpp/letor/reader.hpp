// Reads LETOR text from any source of bytes, within a limit of memory: blocks are parsed on several threads
// and joined in order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "letor/block.hpp"

namespace rankloop::letor {

// The rows need more memory than they may have.
struct LimitError : std::bad_alloc {};

class Reader {
public:
    using Source = std::function<std::size_t(char*, std::size_t)>;  // fills a buffer; 0 at the end

    static constexpr std::size_t everything = SIZE_MAX;

    Reader(Source source, const Options& options, std::size_t block_bytes)
        : source_(std::move(source)), options_(options), base_(options.base < 0 ? 1 : options.base),
          largest_block_(std::max<std::size_t>(block_bytes, 1)), piece_(4 * largest_block_),
          block_bytes_(std::min(first_block, largest_block_)) {
        width_ = static_cast<std::size_t>(options_.n_features);
        width_hint_ = width_;
    }

    // Parses until the source ends, a row is bad, or there are whole queries that take `enough` bytes. The
    // last query stays here then, for its next rows. `held` is what the caller still has of earlier rows,
    // which counts for the limit. `poll` is called now and then by this thread, and may throw.
    Table read(std::size_t enough, unsigned threads, std::size_t held = 0, const std::function<void()>& poll = {}) {
        table_ = std::move(rest_);
        rest_ = Table{};
        table_.x.width = width_;
        enough_ = enough, held_ = held;
        in_flight_ = threads * (2 * largest_block_ + piece_) + (enough == everything ? 0 : enough);  // and a query's copy
        stop_ = met_limit_ = false;
        std::vector<std::thread> others;
        others.reserve(threads);
        try {
            for (unsigned t = 1; t < threads; ++t) others.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // no more threads to be had: those at hand do the work
        }
        work(poll);
        for (auto& thread : others) thread.join();
        pending_.insert(pending_.begin(), std::make_move_iterator(returned_.begin()), std::make_move_iterator(returned_.end()));
        returned_.clear();
        if (failure_) {
            open_rows_ = table_.runs.size() ? table_.x.rows - static_cast<std::size_t>(table_.runs.starts.back()) : 0;
            open_id_ = open_rows_ ? std::string(table_.runs.ids[table_.runs.size() - 1]) : std::string();
            table_ = Table{};
            pending_.clear();
            long_lines_ = 0;
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
        width_ = table_.x.width;
        tell_of_missing_id();
        if (!text_is_over() && !table_.error) rest_ = table_.split_last_query();
        return std::exchange(table_, Table{});
    }

    // From now on rows have the features of those read so far; another index is an error.
    void fix_width() {
        options_.n_features = static_cast<std::int64_t>(width_);
        options_.base = base_;
    }

    bool finished() const { return text_is_over() && rest_.x.rows == 0; }
    int base() const { return base_; }
    std::int64_t lines() const { return lines_; }
    std::int64_t bytes_read() const { return bytes_read_; }
    // Whether it was the limit that ended the last reading; the last query then, and how many rows it had.
    bool met_limit() const { return met_limit_; }
    const std::string& open_id() const { return open_id_; }
    std::size_t open_rows() const { return open_rows_; }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 28;
    static constexpr std::size_t first_block = 4096;  // small, to learn how much text swells

    struct Text {
        Growing<char> bytes;
        std::size_t size = 0;   // without the padding
        std::size_t start = 0;  // what comes before has been joined
        std::size_t claimed = 0;  // bytes, where it has a line longer than a block
    };

    Source source_;
    Options options_;
    int base_;
    std::size_t largest_block_, piece_;     // bytes of text read at once, of rows parsed at once
    std::atomic<std::size_t> block_bytes_;  // joining sets it, reading uses it
    std::size_t width_ = 0;
    std::int64_t largest_index_ = -1, largest_line_ = 0;
    std::string carry_;  // the unfinished line at the end of the last block
    bool ended_ = false;
    std::int64_t lines_ = 0, bytes_read_ = 0;
    bool ids_seen_ = false;
    std::int64_t first_line_without_id_ = 0;
    std::optional<BadRow> lacks_id_;  // the first row of this batch that was left out for it

    Table table_, rest_;
    std::size_t enough_ = 0, held_ = 0, in_flight_ = 0;
    std::deque<Text> pending_, returned_;  // read, but not joined: of the last batch, of this one
    std::mutex reading_, joining_;
    std::condition_variable turn_changed_;
    std::size_t next_ticket_ = 0, turn_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<std::size_t> width_hint_ = 0;
    std::size_t long_lines_ = 0;  // bytes claimed for them
    std::exception_ptr failure_;
    bool met_limit_ = false;
    std::string open_id_;
    std::size_t open_rows_ = 0;

    bool text_is_over() const { return ended_ && carry_.empty() && pending_.empty(); }
    bool over() const { return failure_ || table_.error; }
    bool full() const {
        return enough_ != everything && table_.runs.size() > 1 && table_.amount().bytes() >= enough_;
    }

    // Takes blocks, parses them and joins them to the table in the order they were taken.
    void work(const std::function<void()>& poll = {}) {
        BlockParser parser(options_);
        auto polled = std::chrono::steady_clock::now();
        for (Text text;; forget(text)) {
            std::exception_ptr failure;
            std::size_t ticket;
            {
                std::lock_guard lock(reading_);
                if (stop_) return;
                try {
                    if (const auto now = std::chrono::steady_clock::now(); poll && now - polled > std::chrono::milliseconds(50)) {
                        polled = now;
                        poll();
                    }
                    take_block(text);
                } catch (...) {
                    failure = std::current_exception();
                    stop_ = true;
                }
                if (text.size == 0 && !failure) return;
                ticket = next_ticket_++;
            }
            const char* const end = text.bytes.data() + text.size;
            const char* p = text.bytes.data() + text.start;
            const auto parse = [&](std::size_t room) {
                try {
                    p = parser.parse(p, end, width_hint_, room);
                } catch (...) {
                    failure = std::current_exception();
                }
            };
            const char* const before = p;
            if (!failure) parse(piece_);
            std::unique_lock lock(joining_);
            turn_changed_.wait(lock, [&] { return turn_ == ticket; });
            if (over()) {
                // nothing more is wanted
            } else if (full() && !failure) {
                give_back(text, before);
            } else {
                take_turn(parser.block(), failure, p, end, parse, before);
                if (!over() && p < end) give_back(text, p);
            }
            if (over() || full()) stop_ = true;
            ++turn_;
            turn_changed_.notify_all();
        }
    }

    // Joins piece after piece of a block's text until it ends or the table is full.
    template <typename Parse>
    void take_turn(Block& block, std::exception_ptr& failure, const char* const& p, const char* end, const Parse& parse, const char* from) {
        try {
            for (;;) {
                if (failure) std::rethrow_exception(failure);
                join(block, static_cast<std::size_t>(p - from));
                if (over() || full() || p == end) break;
                const std::size_t room = std::max(piece_, block.wanted);
                check_fits(table_.amount(), room - piece_);
                from = p;
                parse(room);
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
        if (block.values.capacity() * sizeof(float) > 2 * piece_) block.values = {};  // had by turns
    }

    void give_back(Text& text, const char* from) {
        text.start = static_cast<std::size_t>(from - text.bytes.data());
        returned_.push_back(std::exchange(text, Text{}));
    }

    // Makes a text ready for the next block; one with a long line lets others have theirs.
    void forget(Text& text) {
        if (text.claimed) {
            std::lock_guard lock(joining_);
            long_lines_ -= text.claimed;
            text = Text{};
            turn_changed_.notify_all();
        }
        text.size = text.start = 0;
    }

    // Fills `text` with whole lines and padding; with nothing at the end.
    void take_block(Text& text) {
        if (!pending_.empty()) {
            text = std::move(pending_.front());
            pending_.pop_front();
            return;
        }
        std::size_t size = carry_.size(), room = std::max<std::size_t>(block_bytes_, size + 1);
        text.bytes.resize(room + 1 + padding);
        std::copy(carry_.begin(), carry_.end(), text.bytes.data());
        carry_.clear();
        for (;;) {
            // One read: a live source gives what it has, a file as much as there is room for.
            const std::size_t n = ended_ ? 0 : source_(text.bytes.data() + size, room - size);
            ended_ = n == 0;
            size += n;
            bytes_read_ += static_cast<std::int64_t>(n);
            if (ended_) {
                if (size && text.bytes[size - 1] != '\n') text.bytes[size++] = '\n';
                break;
            }
            std::size_t whole = size;
            while (whole > size - n && text.bytes[whole - 1] != '\n') --whole;
            if (whole > size - n) {
                carry_.assign(text.bytes.data() + whole, size - whole);
                size = whole;
                break;
            }
            if (size == room) {
                room = longer_line(text, room);
                text.bytes.resize(room + 1 + padding);
            }
        }
        std::fill_n(text.bytes.data() + size, padding, '\0');
        if (next_ticket_ == 0 && size >= 3 && std::memcmp(text.bytes.data(), "\xEF\xBB\xBF", 3) == 0) {
            std::fill_n(text.bytes.data(), 3, ' ');  // a byte order mark
        }
        text.size = size;
    }

    // More room for a line that does not end. Lines longer than a block are read and parsed one at a time,
    // so that threads together hold one of them, not one each.
    std::size_t longer_line(Text& text, std::size_t room) {
        const std::size_t allowed = options_.max_bytes ? static_cast<std::size_t>(options_.max_bytes) / 8 : longest_line;
        const std::size_t most = std::clamp<std::size_t>(allowed, 1 << 16, longest_line);
        if (room >= most) throw std::length_error("a line is longer than " + std::to_string(most >> 10) + " KB");
        room = std::min(2 * room, most);
        if (room > largest_block_) {
            std::unique_lock lock(joining_);
            turn_changed_.wait(lock, [&] { return text.claimed || long_lines_ == 0 || stop_; });
            long_lines_ += room - text.claimed;
            text.claimed = room;
            check_fits(table_.amount());
        }
        return room;
    }

    void join(Block& block, std::size_t text_bytes) {
        const std::int64_t lines_before = lines_;
        lines_ += block.lines;
        if (block.rows() > 0) append(block, lines_before);
        if (block.bytes() > 0) {  // let a block of text become a piece of rows
            block_bytes_ = std::clamp<std::size_t>(piece_ * text_bytes / block.bytes(), 1, largest_block_);
        }
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

    void append(const Block& block, std::int64_t lines_before) {
        if (!fit_width(block, lines_before)) return;
        const Amount now = table_.amount();
        check_fits({now.rows + block.rows(), now.width, now.runs + block.runs.size(), now.run_bytes + block.runs.ids.bytes.size(),
                    now.doc_bytes + block.doc_ids.bytes.size()});
        for (std::size_t i = 0; i < block.runs.size(); ++i) {
            const auto first = static_cast<std::size_t>(block.runs.starts[i]);
            const auto end = i + 1 < block.runs.size() ? static_cast<std::size_t>(block.runs.starts[i + 1]) : block.rows();
            if (may_stand(block.runs.ids[i], lines_before + block.run_lines[i], end - first)) append_run(block, i, first, end);
            if (table_.error) return;
        }
    }

    // Whether a run of rows can be kept: either all rows have query ids, or none.
    bool may_stand(std::string_view id, std::int64_t line, std::size_t n) {
        const bool after_rows_without = !id.empty() && !ids_seen_ && table_.x.rows > 0;
        ids_seen_ |= !id.empty();
        if (id.empty() && !ids_seen_ && table_.x.rows == 0) first_line_without_id_ = line;
        if (after_rows_without) {
            without_id(first_line_without_id_, table_.x.rows);
            table_.clear_rows();
        }
        if (id.empty() && ids_seen_) without_id(line, n);
        return !table_.error && !(id.empty() && ids_seen_);
    }

    void without_id(std::int64_t line, std::size_t rows) {
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
        auto& x = table_.x;
        const std::size_t base = static_cast<std::size_t>(base_), held = std::min(block.stride - base, x.width);
        const std::size_t before = x.rows;
        float* row = x.append(end - first);
        for (std::size_t r = first; r < end; ++r, row += x.width) {
            std::copy_n(block.row(r) + base, held, row);
            std::fill(row + held, row + x.width, 0.0f);
        }
        table_.labels.append(block.labels.data() + first, end - first);
        if (!table_.runs.last_is(block.runs.ids[run])) table_.runs.add(block.runs.ids[run], before);
        for (std::size_t r = first; r < std::min(end, block.doc_ids.size()); ++r) {
            if (block.doc_ids[r].empty()) continue;
            table_.doc_ids.pad_to(before + r - first);
            table_.doc_ids.add(block.doc_ids[r]);
        }
    }

    // Makes the table as wide as the block needs, shifting it where the first index 0 turns up.
    bool fit_width(const Block& block, std::int64_t lines_before) {
        auto& x = table_.x;
        if (block.max_index > largest_index_) largest_index_ = block.max_index, largest_line_ = block.max_line + lines_before;
        if (block.zero_index && base_ == 1) {
            base_ = 0;
            widen(options_.n_features ? x.width : x.width + 1, 1);
        }
        const std::size_t needed = largest_index_ < base_ ? 0 : static_cast<std::size_t>(largest_index_ + 1 - base_);
        if (needed > x.width) {
            if (options_.n_features) {
                table_.error = {largest_line_, "with a first index of 0, as in this file, the feature index " +
                                                   std::to_string(largest_index_) + " is more than n_features=" +
                                                   std::to_string(x.width) + " allows"};
                return false;
            }
            widen(needed, 0);
        }
        width_hint_ = x.width;
        return true;
    }

    void widen(std::size_t width, std::size_t shift) {
        Amount amount = table_.amount();
        amount.width = width;
        check_fits(amount);
        table_.x.reshape(width, shift);
    }

    void check_fits(const Amount& amount, std::size_t more = 0) {
        const std::size_t needed = amount.bytes() + held_ + in_flight_ + long_lines_ + more;
        if (!options_.max_bytes || needed <= static_cast<std::size_t>(options_.max_bytes)) return;
        met_limit_ = true;
        throw LimitError();
    }
};

}  // namespace rankloop::letor
