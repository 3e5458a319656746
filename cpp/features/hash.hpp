// Hashes of 64 bits with the same value on every machine: of texts, of keys with several parts, and of all changes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rankloop::features {

using Hash = std::uint64_t;

static_assert(std::endian::native == std::endian::little, "texts are read eight bytes at a time");

// A one-to-one mixing of 64 bits: each bit of x changes about half of the bits of the result.
inline Hash mix(Hash x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    return x ^ (x >> 32);
}

inline Hash combine(Hash key, Hash part) { return mix(key * 0x9e3779b97f4a7c15 + part); }

// The hash of a text; never 0, which means that there is none.
inline Hash hash_text(std::string_view text) {
    Hash h = mix(text.size() + 1);
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        Hash block;
        std::memcpy(&block, text.data() + i, 8);
        h = combine(h, block);
    }
    Hash rest = 0;
    if (i < text.size()) std::memcpy(&rest, text.data() + i, text.size() - i);
    h = combine(h, rest);
    return h ? h : 1;
}

// A digest of everything that was added to it, in order.
struct Chain {
    Hash a = 0x243f6a8885a308d3, b = 0x13198a2e03707344;

    void add(Hash value) {
        a = combine(a, value);
        b = combine(b, ~value) + a;
    }
    void add(double value) { add(std::bit_cast<Hash>(value)); }
};

}  // namespace rankloop::features
