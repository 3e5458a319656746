// The current fields of items, or of users: an item is a row, a field a column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "features/heap.hpp"
#include "features/text.hpp"
#include "features/words.hpp"

namespace rankloop::features {

enum class Type : std::uint8_t { number, category, categories, text, vector };

struct FieldSpec {
    Type type;
    std::size_t size = 0;    // of a vector
    bool has_terms = false;  // whether a text is matched, so that its terms are kept
};

struct Column {
    FieldSpec spec;
    std::vector<double> numbers;       // NaN if missing; also of booleans and dates
    std::vector<std::uint32_t> codes;  // nowhere if missing
    Words words;
    Heap<std::uint32_t> lists;  // codes of categories; terms of texts
    Heap<char> texts;
    std::vector<float> vectors;                                  // NaN if missing
    std::unordered_map<std::uint32_t, std::uint32_t> frequency;  // of a term: texts with it
    std::uint64_t n_texts = 0, n_terms = 0;

    void resize(std::size_t rows) {
        constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
        switch (spec.type) {
            case Type::number:
                numbers.resize(rows, nan);
                break;
            case Type::category:
                codes.resize(rows, nowhere);
                break;
            case Type::text:
                texts.resize(rows);
                [[fallthrough]];
            case Type::categories:
                lists.resize(rows);
                break;
            case Type::vector:
                vectors.resize(rows * spec.size, static_cast<float>(nan));
        }
    }

    void clear(std::size_t row) {
        constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
        switch (spec.type) {
            case Type::number:
                numbers[row] = nan;
                break;
            case Type::category:
                codes[row] = nowhere;
                break;
            case Type::text:
                count_terms(row, false);
                texts.clear(row);
                [[fallthrough]];
            case Type::categories:
                lists.clear(row);
                break;
            case Type::vector:
                std::fill_n(vectors.begin() + static_cast<std::ptrdiff_t>(row * spec.size), spec.size,
                            static_cast<float>(nan));
        }
    }

    void set_text(std::size_t row, std::string_view text) {
        count_terms(row, false);
        texts.set(row, {text.data(), text.size()});
        if (!spec.has_terms) return;
        lists.set(row, terms_of(text));
        count_terms(row, true);
    }

    // The part of a row in the statistics of terms: each term counts once a text.
    void count_terms(std::size_t row, bool added) {
        if (!lists.has(row)) return;
        std::vector<std::uint32_t> terms(lists.get(row).begin(), lists.get(row).end());
        n_texts += added ? 1 : -1;
        n_terms += added ? terms.size() : -terms.size();
        std::sort(terms.begin(), terms.end());
        terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
        for (const std::uint32_t term : terms) {
            if (added)
                ++frequency[term];
            else if (--frequency[term] == 0)
                frequency.erase(term);
        }
    }

    void write(Writer& out) const {
        out.put_all(numbers);
        out.put_all(codes);
        words.write(out);
        if (spec.type == Type::categories) lists.write(out);
        if (spec.type == Type::text) texts.write(out);
        out.put_all(vectors);
    }

    void read(Reader& in, std::size_t rows) {
        numbers = in.get_all<double>();
        codes = in.get_all<std::uint32_t>();
        words.read(in);
        if (spec.type == Type::categories) lists.read(in);
        if (spec.type == Type::text) {
            Heap<char> stored;
            stored.read(in);
            if (stored.rows() != rows) Reader::damaged();
            resize(rows);
            for (std::size_t row = 0; row < rows; ++row)
                if (stored.has(row)) set_text(row, {stored.get(row).data(), stored.get(row).size()});
        }
        vectors = in.get_all<float>();
        const bool fits = (spec.type != Type::number || numbers.size() == rows) &&
                          (spec.type != Type::category || codes.size() == rows) &&
                          (spec.type != Type::categories || lists.rows() == rows) &&
                          (spec.type != Type::vector || vectors.size() == rows * spec.size);
        if (!fits) Reader::damaged();
        for (const std::uint32_t code : codes)
            if (code != nowhere && code >= words.size()) Reader::damaged();
        if (spec.type == Type::categories)
            for (std::size_t row = 0; row < rows; ++row)
                for (const std::uint32_t code : lists.get(row))
                    if (code >= words.size()) Reader::damaged();
    }

    std::size_t bytes() const {
        return numbers.capacity() * 8 + codes.capacity() * 4 + words.bytes() + lists.bytes() + texts.bytes() +
               vectors.capacity() * 4 + frequency.size() * 40;
    }
};

class Catalogue {
    auto hash_of() const {
        return [this](std::uint32_t row) { return hashes_[row]; };
    }

public:
    explicit Catalogue(const std::vector<FieldSpec>& specs) {
        for (const FieldSpec& spec : specs) columns.push_back({spec, {}, {}, {}, {}, {}, {}, {}, 0, 0});
    }

    std::vector<Column> columns;

    std::size_t size() const { return ids_.rows() - free_.size(); }
    bool is_new() const { return ids_.rows() == 0; }

    std::uint32_t find(Hash id) const { return index_.find(id, hash_of()); }

    // The row of an id; a new one has no values.
    std::uint32_t row(std::string_view id) {
        const Hash hash = hash_text(id);
        std::uint32_t row = find(hash);
        if (row != nowhere) return row;
        if (free_.empty()) {
            row = static_cast<std::uint32_t>(ids_.rows());
            ids_.resize(row + 1);
            hashes_.push_back(0);
            for (Column& column : columns) column.resize(row + 1);
        } else {
            row = free_.back();
            free_.pop_back();
        }
        hashes_[row] = hash;
        ids_.set(row, {id.data(), id.size()});
        index_.add(hash, row, hash_of());
        return row;
    }

    bool remove(Hash id) {
        const std::uint32_t row = find(id);
        if (row == nowhere) return false;
        for (Column& column : columns) column.clear(row);
        index_.remove(id, hash_of());
        ids_.clear(row);
        free_.push_back(row);
        return true;
    }

    void write(Writer& out) const {
        ids_.write(out);
        out.put_all(free_);
        for (const Column& column : columns) column.write(out);
    }

    // Into a new catalogue.
    void read(Reader& in) {
        ids_.read(in);
        free_ = in.get_all<std::uint32_t>();
        hashes_.assign(ids_.rows(), 0);
        std::size_t gaps = 0;
        for (std::size_t row = 0; row < ids_.rows(); ++row) {
            gaps += !ids_.has(row);
            if (!ids_.has(row)) continue;
            hashes_[row] = hash_text({ids_.get(row).data(), ids_.get(row).size()});
            if (find(hashes_[row]) != nowhere) Reader::damaged();
            index_.add(hashes_[row], static_cast<std::uint32_t>(row), hash_of());
        }
        if (gaps != free_.size()) Reader::damaged();
        std::vector<bool> is_free(ids_.rows());
        for (const std::uint32_t row : free_) {
            if (row >= ids_.rows() || ids_.has(row) || is_free[row]) Reader::damaged();
            is_free[row] = true;
        }
        for (Column& column : columns) column.read(in, ids_.rows());
    }

    std::size_t bytes() const {
        std::size_t sum = ids_.bytes() + hashes_.capacity() * 8 + free_.capacity() * 4 + index_.bytes();
        for (const Column& column : columns) sum += column.bytes();
        return sum;
    }

private:
    Heap<char> ids_;
    std::vector<Hash> hashes_;
    std::vector<std::uint32_t> free_;
    Index index_;
};

}  // namespace rankloop::features
