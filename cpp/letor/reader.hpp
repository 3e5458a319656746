// Reads LETOR text from any source of bytes: blocks are parsed on several threads and joined in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "letor/block.hpp"

namespace rankloop::letor {

// A float matrix that grows at its end. realloc moves pages rather than bytes where the system can,
// and pages not yet written take no memory, so the peak stays near the final size.
class GrowingMatrix {
public:
    std::size_t width = 0, rows = 0;

    float* append(std::size_t n) {
        ensure((rows + n) * width);
        float* const first = data_.get() + rows * width;
        rows += n;
        return first;
    }

    // Gives rows a new width and moves what they hold `shift` columns to the right.
    void reshape(std::size_t new_width, std::size_t shift) {
        ensure(rows * new_width);
        float* const x = data_.get();
        const std::size_t held = std::min(width, new_width - shift);
        for (std::size_t r = rows; r-- > 0;) {
            float* const row = x + r * new_width;
            std::memmove(row + shift, x + r * width, held * sizeof(float));
            std::fill_n(row, shift, 0.0f);
            std::fill(row + shift + held, row + new_width, 0.0f);
        }
        width = new_width;
    }

    std::size_t bytes() const { return rows * width * sizeof(float); }

    float* release() {
        resize(std::max<std::size_t>(rows * width, 1));
        capacity_ = 0;
        return data_.release();
    }

private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> data_;
    std::size_t capacity_ = 0;

    void ensure(std::size_t n) {
        if (n > capacity_) resize(std::max(n, capacity_ + capacity_ / 2));
    }

    void resize(std::size_t n) {
        auto* const moved = static_cast<float*>(std::realloc(data_.get(), n * sizeof(float)));
        if (!moved) throw std::bad_alloc();
        (void)data_.release();
        data_.reset(moved);
        capacity_ = n;
    }
};

struct Table {
    GrowingMatrix x;
    std::vector<double> labels;
    std::vector<Run> runs;
    std::string doc_ids;
    std::vector<std::size_t> doc_ends;
    std::vector<BadRow> bad;  // the first of them
    std::int64_t n_bad = 0;
    std::optional<BadRow> error;  // what ended the reading
};

class Reader {
public:
    using Source = std::function<std::size_t(char*, std::size_t)>;  // fills a buffer; 0 at the end

    Reader(Source source, const Options& options, std::size_t block_bytes)
        : source_(std::move(source)), options_(options), base_(options.base < 0 ? 1 : options.base),
          largest_block_(std::max<std::size_t>(block_bytes, 1)), block_bytes_(largest_block_) {
        width_ = static_cast<std::size_t>(options_.n_features);
        width_hint_ = width_;
    }

    // Parses until the source ends, a row is bad, or the matrix has at least `enough` bytes.
    Table read(std::size_t enough, unsigned threads) {
        table_ = Table{};
        table_.x.width = width_;
        enough_ = enough;
        stop_ = false;
        if (lines_ == 0 && in_batches()) block_bytes_ = std::min(first_block, largest_block_);
        std::vector<std::thread> others;
        try {
            for (unsigned t = 1; t < threads; ++t) others.emplace_back([this] { work(); });
        } catch (const std::system_error&) {  // the system has no more threads to give
        }
        work();
        for (auto& thread : others) thread.join();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        width_ = table_.x.width;
        return std::move(table_);
    }

    // From now on rows have the features of those read so far; another index is an error.
    void fix_width() {
        options_.n_features = static_cast<std::int64_t>(width_);
        options_.base = base_;
    }

    bool finished() const { return ended_ && carry_.empty(); }
    int base() const { return base_; }
    std::int64_t lines() const { return lines_; }
    std::int64_t bytes_read() const { return bytes_read_; }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 28;
    static constexpr std::size_t bad_rows_kept = 20;
    static constexpr std::size_t first_block = 1024;  // small, to learn how much text swells

    Source source_;
    Options options_;
    int base_;
    std::size_t largest_block_;
    std::atomic<std::size_t> block_bytes_;  // joining sets it, reading uses it
    std::size_t width_ = 0;
    std::int64_t largest_index_ = -1, largest_line_ = 0;
    std::string carry_;  // the unfinished line at the end of the last block
    bool ended_ = false;
    std::int64_t lines_ = 0, bytes_read_ = 0;

    Table table_;
    std::size_t enough_ = 0;
    std::mutex reading_, joining_;
    std::condition_variable turn_changed_;
    std::size_t next_ticket_ = 0, turn_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<std::size_t> width_hint_ = 0;
    std::exception_ptr failure_;

    bool in_batches() const { return enough_ < SIZE_MAX / 4; }

    // Takes blocks, parses them and joins them to the table in the order they were taken.
    void work() {
        std::vector<char> text;
        BlockParser parser(options_);
        for (;;) {
            std::size_t ticket, size = 0;
            Block* block = nullptr;
            std::exception_ptr failure;
            {
                std::lock_guard lock(reading_);
                if (stop_) return;
                try {
                    size = take_block(text);
                } catch (...) {
                    failure = std::current_exception();
                }
                if (size == 0 && !failure) return;
                ticket = next_ticket_++;
                if (failure) stop_ = true;
            }
            try {
                if (!failure) block = &parser.parse(text.data(), text.data() + size, width_hint_);
            } catch (...) {
                failure = std::current_exception();
            }
            std::unique_lock lock(joining_);
            turn_changed_.wait(lock, [&] { return turn_ == ticket; });
            try {
                if (failure) std::rethrow_exception(failure);
                if (!failure_ && !table_.error) join(*block, size);
            } catch (...) {
                if (!failure_ && !table_.error) failure_ = std::current_exception();
            }
            if (failure_ || table_.error || table_.x.bytes() >= enough_) stop_ = true;
            ++turn_;
            turn_changed_.notify_all();
        }
    }

    // Fills `text` with whole lines and padding; returns how many bytes of lines, 0 at the end.
    std::size_t take_block(std::vector<char>& text) {
        std::size_t size = carry_.size(), room = std::max<std::size_t>(block_bytes_, size + 1);
        text.resize(room + 1 + padding);
        std::copy(carry_.begin(), carry_.end(), text.begin());
        carry_.clear();
        for (;;) {
            // One read: a live source gives what it has, a file as much as there is room for.
            const std::size_t n = ended_ ? 0 : source_(text.data() + size, room - size);
            ended_ = n == 0;
            size += n;
            bytes_read_ += static_cast<std::int64_t>(n);
            if (ended_) {
                if (size && text[size - 1] != '\n') text[size++] = '\n';
                break;
            }
            std::size_t whole = size;
            while (whole > 0 && text[whole - 1] != '\n') --whole;
            if (whole > 0) {
                carry_.assign(text.data() + whole, size - whole);
                size = whole;
                break;
            }
            if (size >= longest_line) throw std::length_error("a line is longer than 256 MB");
            if (size == room) text.resize((room = std::min(2 * room, longest_line)) + 1 + padding);
        }
        std::fill_n(text.data() + size, padding, '\0');
        if (next_ticket_ == 0 && size >= 3 && std::memcmp(text.data(), "\xEF\xBB\xBF", 3) == 0) {
            std::fill_n(text.data(), 3, ' ');  // a byte order mark
        }
        return size;
    }

    void join(Block& block, std::size_t text_bytes) {
        const std::int64_t lines_before = lines_;
        lines_ += block.lines;
        if (block.rows() > 0) append(block, lines_before);
        if (in_batches()) {  // let a block of text become about an eighth of a batch
            const std::size_t swollen = std::max<std::size_t>(block.rows() * table_.x.width * sizeof(float), 1);
            block_bytes_ = std::clamp<std::size_t>(enough_ / 8 * text_bytes / swollen, 1, largest_block_);
        }
        if (table_.error) return;
        table_.n_bad += static_cast<std::int64_t>(block.bad.size());
        for (auto& bad : block.bad) {
            bad.line += lines_before;
            if (!options_.skip_bad) {
                table_.error = std::move(bad);
                return;
            }
            if (table_.bad.size() < bad_rows_kept) table_.bad.push_back(std::move(bad));
        }
    }

    void append(Block& block, std::int64_t lines_before) {
        if (!fit_width(block, lines_before)) return;
        auto& x = table_.x;
        check_fits((x.rows + block.rows()) * x.width);
        const auto first = static_cast<std::int64_t>(x.rows);
        const std::size_t base = static_cast<std::size_t>(base_), held = std::min(block.stride - base, x.width);
        float* row = x.append(block.rows());
        for (std::size_t r = 0; r < block.rows(); ++r, row += x.width) {
            std::copy_n(block.row(r) + base, held, row);
            std::fill(row + held, row + x.width, 0.0f);
        }
        table_.labels.insert(table_.labels.end(), block.labels.begin(), block.labels.end());
        for (auto& run : block.runs) {
            run.first_row += first;
            run.line += lines_before;
            const bool joins = !table_.runs.empty() && table_.runs.back().has_id == run.has_id && table_.runs.back().id == run.id;
            if (!joins) table_.runs.push_back(std::move(run));
        }
        const std::size_t bytes = table_.doc_ids.size();
        table_.doc_ids += block.doc_ids;
        for (const std::size_t end : block.doc_ends) table_.doc_ends.push_back(bytes + end);
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
        check_fits(table_.x.rows * width);
        table_.x.reshape(width, shift);
    }

    void check_fits(std::size_t floats) const {
        if (options_.max_bytes && floats * sizeof(float) > static_cast<std::size_t>(options_.max_bytes)) throw std::bad_alloc();
    }
};

}  // namespace rankloop::letor
