// The categories of a field, with codes in the order in which they appeared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "features/heap.hpp"
#include "features/index.hpp"

namespace rankloop::features {

class Words {
    auto hash_of() const {
        return [this](std::uint32_t code) { return hashes_[code]; };
    }

public:
    std::size_t size() const { return hashes_.size(); }

    std::uint32_t find(Hash word) const { return index_.find(word, hash_of()); }

    std::uint32_t code(std::string_view word) {
        const Hash hash = hash_text(word);
        std::uint32_t code = index_.find(hash, hash_of());
        if (code == nowhere) {
            code = static_cast<std::uint32_t>(hashes_.size());
            hashes_.push_back(hash);
            texts_.resize(hashes_.size());
            texts_.set(code, {word.data(), word.size()});
            index_.add(hash, code, hash_of());
        }
        return code;
    }

    Hash hash(std::uint32_t code) const { return hashes_[code]; }

    std::string_view text(std::uint32_t code) const {
        const auto text = texts_.get(code);
        return {text.data(), text.size()};
    }

    // The code that a feature of a fixed width shows: the first `limit` have their own, others share some.
    std::size_t shown(std::uint32_t code, std::uint32_t limit, std::uint32_t buckets) const {
        return code < limit ? code : limit + hashes_[code] % buckets;
    }

    void write(Writer& out) const { texts_.write(out); }

    void read(Reader& in) {
        Heap<char> texts;
        texts.read(in);
        for (std::size_t i = 0; i < texts.rows(); ++i) {
            const auto text = texts.get(i);
            if (code({text.data(), text.size()}) != i) Reader::damaged();
        }
    }

    std::size_t bytes() const { return texts_.bytes() + hashes_.capacity() * 8 + index_.bytes(); }

private:
    Heap<char> texts_;
    std::vector<Hash> hashes_;
    Index index_;
};

}  // namespace rankloop::features
