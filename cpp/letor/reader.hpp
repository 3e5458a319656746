// Reads LETOR text from any source of bytes: blocks are parsed on several threads and joined in order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "letor/joiner.hpp"

namespace rankloop::letor {

class Reader {
public:
    using Source = std::function<std::size_t(char*, std::size_t)>;  // fills a buffer; 0 at the end

    static constexpr std::size_t everything = SIZE_MAX;

    Reader(Source source, const Options& options, std::size_t block_bytes)
        : source_(std::move(source)),
          options_(options),
          joiner_(options_),
          largest_block_(std::max<std::size_t>(block_bytes, 1)),
          piece_(4 * largest_block_),
          block_bytes_(std::min(first_block, largest_block_)),
          width_hint_(joiner_.width()) {}

    // Parses until the source ends, a row is bad, or there are whole queries that take `enough` bytes. The
    // last query stays here then, for its next rows. `held` is what the caller still has of earlier rows,
    // which counts for the limit. `poll` is called now and then by this thread, and may throw.
    Table read(std::size_t enough, unsigned threads, std::size_t held = 0, const std::function<void()>& poll = {}) {
        const std::size_t in_flight = threads * (2 * largest_block_ + piece_);
        const std::size_t copy_of_a_query = enough == everything ? 0 : enough;
        joiner_.start(held + in_flight + copy_of_a_query);
        enough_ = enough;
        stop_ = false;
        std::vector<std::thread> others;
        others.reserve(threads);
        try {
            for (unsigned t = 1; t < threads; ++t) others.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // no more threads to be had: those at hand do the work
        }
        work(poll);
        for (auto& thread : others) thread.join();
        pending_.insert(pending_.begin(), std::make_move_iterator(returned_.begin()),
                        std::make_move_iterator(returned_.end()));
        returned_.clear();
        if (failure_) fail();
        return joiner_.finish(text_is_over());
    }

    // From now on rows have the features of those read so far; another index is an error.
    void fix_width() {
        options_.n_features = static_cast<std::int64_t>(joiner_.width());
        options_.base = joiner_.base();
    }

    bool finished() const { return text_is_over() && !joiner_.has_rest(); }
    int base() const { return joiner_.base(); }
    std::int64_t lines() const { return joiner_.lines(); }
    std::int64_t bytes_read() const { return bytes_read_; }
    // Whether it was the limit that ended the last reading; the last query then, and how many rows it had.
    bool met_limit() const { return joiner_.met_limit(); }
    const std::string& open_id() const { return open_id_; }
    std::size_t open_rows() const { return open_rows_; }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 28;
    static constexpr std::size_t first_block = 4096;  // small, to learn how much text swells

    // Whole lines, of which those before `start` have been joined, and padding.
    struct Text {
        Growing<char> bytes;
        std::size_t size = 0, start = 0;
        std::size_t claimed = 0;  // bytes, where it has a line longer than a block
    };

    Source source_;
    Options options_;
    Joiner joiner_;
    std::size_t largest_block_, piece_;     // bytes of text read at once, of rows parsed at once
    std::atomic<std::size_t> block_bytes_;  // joining sets these two, reading and parsing use them
    std::atomic<std::size_t> width_hint_;
    std::string carry_;  // the unfinished line at the end of the last block
    bool ended_ = false;
    std::int64_t bytes_read_ = 0;
    std::deque<Text> pending_, returned_;  // read, but not joined: of the last batch, of this one

    std::size_t enough_ = 0;
    std::mutex reading_, joining_;
    std::condition_variable turn_changed_;
    std::size_t next_ticket_ = 0, turn_ = 0;
    std::atomic<bool> stop_ = false;
    std::size_t long_lines_ = 0;  // bytes claimed for them
    std::exception_ptr failure_;
    std::string open_id_;
    std::size_t open_rows_ = 0;

    bool text_is_over() const { return ended_ && carry_.empty() && pending_.empty(); }
    bool over() const { return failure_ || joiner_.table().error; }
    bool full() const {
        const Table& table = joiner_.table();
        return enough_ != everything && table.runs.size() > 1 && table.amount().bytes() >= enough_;
    }

    // Notes the query that was being read, frees everything and throws.
    [[noreturn]] void fail() {
        const Table& table = joiner_.table();
        const std::size_t runs = table.runs.size();
        open_rows_ = runs ? table.x.rows - static_cast<std::size_t>(table.runs.starts.back()) : 0;
        open_id_ = runs ? std::string(table.runs.ids[runs - 1]) : std::string();
        joiner_.discard();
        pending_.clear();
        long_lines_ = 0;
        std::rethrow_exception(std::exchange(failure_, nullptr));
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
                    const auto now = std::chrono::steady_clock::now();
                    if (poll && now - polled > std::chrono::milliseconds(50)) {
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
            const char* const start = text.bytes.data() + text.start;
            const char* stop = start;
            if (!failure) failure = parse(parser, stop, text, piece_);
            std::unique_lock lock(joining_);
            turn_changed_.wait(lock, [&] { return turn_ == ticket; });
            if (!over()) {
                if (failure) {
                    failure_ = failure;
                } else if (full()) {
                    give_back(text, start);
                } else {
                    join_pieces(parser, start, stop, text);
                }
            }
            if (over() || full()) stop_ = true;
            ++turn_;
            turn_changed_.notify_all();
        }
    }

    // Parses a piece of a text from `p` on, and leaves `p` where it ended.
    std::exception_ptr parse(BlockParser& parser, const char*& p, const Text& text, std::size_t room) {
        try {
            p = parser.parse(p, text.bytes.data() + text.size, width_hint_, room);
            return nullptr;
        } catch (...) {
            return std::current_exception();
        }
    }

    // Joins the piece from `start` to `stop`, then further pieces of the text until it ends or the table is
    // full; what is left is given back. Rows too wide for a piece are parsed here, one thread at a time.
    void join_pieces(BlockParser& parser, const char* start, const char* stop, Text& text) {
        Block& block = parser.block();
        const char* const end = text.bytes.data() + text.size;
        try {
            for (;;) {
                joiner_.join(block);
                width_hint_ = joiner_.table().x.width;
                if (const std::size_t bytes = block.bytes()) {  // let a block of text become a piece of rows
                    const auto text_bytes = static_cast<std::size_t>(stop - start);
                    block_bytes_ = std::clamp<std::size_t>(piece_ * text_bytes / bytes, 1, largest_block_);
                }
                if (over() || full() || stop == end) break;
                const std::size_t room = std::max(piece_, block.wanted);
                joiner_.check_fits(long_lines_ + room - piece_);
                start = stop;
                if (const auto failure = parse(parser, stop, text, room)) std::rethrow_exception(failure);
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
        if (block.values.capacity() * sizeof(float) > 2 * piece_) block.values = {};
        if (!over() && stop < end) give_back(text, stop);
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
        const std::size_t allowed =
            options_.max_bytes ? static_cast<std::size_t>(options_.max_bytes) / 8 : longest_line;
        const std::size_t most = std::clamp<std::size_t>(allowed, 1 << 16, longest_line);
        if (room >= most) throw std::length_error("a line is longer than " + std::to_string(most >> 10) + " KB");
        room = std::min(2 * room, most);
        if (room > largest_block_) {
            std::unique_lock lock(joining_);
            turn_changed_.wait(lock, [&] { return text.claimed || long_lines_ == 0 || stop_; });
            const std::size_t claim = options_.sparse ? 3 * room : room;  // entries take up to twice their text
            long_lines_ += claim - text.claimed;
            text.claimed = claim;
            joiner_.check_fits(long_lines_);
        }
        return room;
    }
};

}  // namespace rankloop::letor
