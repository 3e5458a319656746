// Lists of different lengths, one a row, in one block of memory: texts, and lists of categories.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/parts.hpp"

namespace rankloop::features {

template <typename T>
class Heap {
public:
    static constexpr std::uint32_t none = 0xffffffff;  // the length of a list that is missing

    void resize(std::size_t rows) {
        starts_.resize(rows, 0);
        lengths_.resize(rows, none);
    }

    bool has(std::size_t row) const { return lengths_[row] != none; }

    std::span<const T> get(std::size_t row) const {
        return has(row) ? std::span<const T>(values_.data() + starts_[row], lengths_[row]) : std::span<const T>();
    }

    void clear(std::size_t row) {
        if (has(row)) garbage_ += lengths_[row];
        lengths_[row] = none;
    }

    void set(std::size_t row, std::span<const T> list) {
        clear(row);
        if (garbage_ > 4096 && garbage_ > values_.size() / 2) compact();
        starts_[row] = values_.size();
        lengths_[row] = static_cast<std::uint32_t>(list.size());
        values_.insert(values_.end(), list.begin(), list.end());
    }

    void write(Writer& out) const {
        Heap copy = *this;
        copy.compact();
        out.put_all(copy.lengths_);
        out.put_all(copy.values_);
    }

    void read(Reader& in) {
        lengths_ = in.get_all<std::uint32_t>();
        values_ = in.get_all<T>();
        starts_.clear();
        std::uint64_t start = 0;
        for (const std::uint32_t length : lengths_) {
            starts_.push_back(start);
            if (length != none) start += length;
        }
        if (start != values_.size()) Reader::damaged();
        garbage_ = 0;
    }

    std::size_t rows() const { return lengths_.size(); }
    std::size_t bytes() const {
        return values_.capacity() * sizeof(T) + starts_.capacity() * 8 + lengths_.capacity() * 4;
    }

private:
    void compact() {
        std::vector<T> packed;
        packed.reserve(values_.size() - garbage_);
        for (std::size_t row = 0; row < lengths_.size(); ++row) {
            const auto list = get(row);
            starts_[row] = packed.size();
            packed.insert(packed.end(), list.begin(), list.end());
        }
        values_.swap(packed);
        garbage_ = 0;
    }

    std::vector<T> values_;
    std::vector<std::uint64_t> starts_;
    std::vector<std::uint32_t> lengths_;
    std::size_t garbage_ = 0;
};

}  // namespace rankloop::features
