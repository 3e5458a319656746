// From a hash to the place of what it stands for: open addressing, eight bytes a place.
#pragma once

#include <cstdint>
#include <vector>

#include "features/hash.hpp"

namespace rankloop::features {

inline constexpr std::uint32_t nowhere = 0xffffffff;

// The hashes themselves are kept by the caller: `hash_of(place)` returns that of a place.
class Index {
public:
    template <typename HashOf>
    std::uint32_t find(Hash hash, HashOf hash_of) const {
        if (places_.empty()) return nowhere;
        for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
            const std::uint32_t place = places_[i];
            if (place == nowhere || hash_of(place) == hash) return place;
        }
    }

    // Adds a hash that is not there yet.
    template <typename HashOf>
    void add(Hash hash, std::uint32_t place, HashOf hash_of) {
        if (2 * (size_ + 1) > places_.size()) grow(hash_of);
        insert(hash, place);
        ++size_;
    }

    // Removes a hash that is there; those behind it move up, so that no gap stops a search.
    template <typename HashOf>
    void remove(Hash hash, HashOf hash_of) {
        std::size_t gap = hash & mask();
        while (hash_of(places_[gap]) != hash) gap = (gap + 1) & mask();
        for (std::size_t i = (gap + 1) & mask(); places_[i] != nowhere; i = (i + 1) & mask()) {
            const std::size_t home = hash_of(places_[i]) & mask();
            if (((i - home) & mask()) >= ((i - gap) & mask())) {
                places_[gap] = places_[i];
                gap = i;
            }
        }
        places_[gap] = nowhere;
        --size_;
    }

    std::size_t bytes() const { return places_.capacity() * sizeof(std::uint32_t); }

private:
    std::size_t mask() const { return places_.size() - 1; }

    void insert(Hash hash, std::uint32_t place) {
        std::size_t i = hash & mask();
        while (places_[i] != nowhere) i = (i + 1) & mask();
        places_[i] = place;
    }

    template <typename HashOf>
    void grow(HashOf hash_of) {
        std::vector<std::uint32_t> old(places_.empty() ? 16 : 2 * places_.size(), nowhere);
        old.swap(places_);
        for (const std::uint32_t place : old)
            if (place != nowhere) insert(hash_of(place), place);
    }

    std::vector<std::uint32_t> places_;
    std::size_t size_ = 0;
};

}  // namespace rankloop::features
