// BLAKE2b without a key (RFC 7693), of many messages side by side: each step does the same to eight of them, as wide
// as the registers are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "linalg/clones.hpp"

namespace rankloop {

inline constexpr std::array<std::uint64_t, 8> blake2b_start = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

inline constexpr std::uint8_t blake2b_order[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

// A word of one message, or the same word of several.
template <typename Word>
RANKLOOP_INLINE Word rotated(const Word value, int bits) {
    return value >> bits | value << (64 - bits);
}

template <typename Word>
RANKLOOP_INLINE void blake2b_mix(Word& a, Word& b, Word& c, Word& d, const Word& x, const Word& y) {
    a = a + b + x;
    d = rotated<Word>(d ^ a, 32);
    c = c + d;
    b = rotated<Word>(b ^ c, 24);
    a = a + b + y;
    d = rotated<Word>(d ^ a, 16);
    c = c + d;
    b = rotated<Word>(b ^ c, 63);
}

// The order of the words is known to the compiler in each round.
template <std::size_t Round, typename Word>
RANKLOOP_INLINE void blake2b_round(Word* v, const Word* m) {
    constexpr const std::uint8_t* s = blake2b_order[Round];
    blake2b_mix<Word>(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    blake2b_mix<Word>(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    blake2b_mix<Word>(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    blake2b_mix<Word>(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    blake2b_mix<Word>(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    blake2b_mix<Word>(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    blake2b_mix<Word>(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    blake2b_mix<Word>(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
}

template <typename Word, std::size_t... Rounds>
RANKLOOP_INLINE void blake2b_rounds(Word* v, const Word* m, std::index_sequence<Rounds...>) {
    (blake2b_round<Rounds, Word>(v, m), ...);
}

// One block more of each message. counted: bytes with this block; last: all ones for the last block.
template <typename Word>
RANKLOOP_INLINE void blake2b_block(Word* state, const Word* m, const Word& counted, const Word& last) {
    Word v[16];
    for (std::size_t i = 0; i < 8; ++i) v[i] = state[i], v[i + 8] = Word{} + blake2b_start[i];
    v[12] ^= counted;
    v[14] ^= last;
    blake2b_rounds<Word>(v, m, std::make_index_sequence<12>());
    for (std::size_t i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
}

inline std::uint64_t little_word(const char* p) {
    std::uint64_t value;
    std::memcpy(&value, p, 8);
    if constexpr (std::endian::native == std::endian::big) {
        std::uint64_t turned = 0;
        for (int i = 0; i < 8; ++i) turned = turned << 8 | (value >> (8 * i) & 0xff);
        return turned;
    }
    return value;
}

inline constexpr std::size_t blake2b_lanes = 8, blake2b_bytes = 128;
typedef std::uint64_t Word8 __attribute__((vector_size(8 * blake2b_lanes)));

inline std::size_t blake2b_blocks(std::size_t bytes) {
    return std::max<std::size_t>((bytes + blake2b_bytes - 1) / blake2b_bytes, 1);
}

// The last block of a message, filled up with zeros.
inline void blake2b_end(std::string_view text, char* out) {
    const std::string_view rest = text.substr((blake2b_blocks(text.size()) - 1) * blake2b_bytes);
    std::fill(std::copy(rest.begin(), rest.end(), out), out + blake2b_bytes, char{0});
}

// Writes the digest of one message, of `size` bytes.
inline void blake2b_alone(std::string_view text, std::size_t size, char* out) {
    char end[blake2b_bytes];
    blake2b_end(text, end);
    const std::size_t blocks = blake2b_blocks(text.size());
    std::array<std::uint64_t, 8> state = blake2b_start;
    state[0] ^= 0x01010000u ^ size;
    for (std::size_t block = 0; block < blocks; ++block) {
        const bool ends_here = block + 1 == blocks;
        const char* const p = ends_here ? end : text.data() + block * blake2b_bytes;
        std::uint64_t m[16];
        for (std::size_t i = 0; i < 16; ++i) m[i] = little_word(p + 8 * i);
        const std::uint64_t counted = ends_here ? text.size() : (block + 1) * blake2b_bytes;
        blake2b_block<std::uint64_t>(state.data(), m, counted, ends_here ? ~std::uint64_t{0} : 0);
    }
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(state[i / 8] >> (8 * (i % 8)));
}

// Writes the digests of up to eight messages, of `size` bytes each.
RANKLOOP_INLINE void blake2b_together(const std::string_view* texts, std::size_t n, std::size_t size,
                                      char* const* out) {
    static constexpr char nothing[blake2b_bytes] = {};
    char ends[blake2b_lanes][blake2b_bytes];
    std::size_t blocks[blake2b_lanes] = {}, most = 0;
    for (std::size_t l = 0; l < n; ++l) {
        blake2b_end(texts[l], ends[l]);
        blocks[l] = blake2b_blocks(texts[l].size());
        most = std::max(most, blocks[l]);
    }
    Word8 state[8];
    for (std::size_t i = 0; i < 8; ++i) state[i] = Word8{} + blake2b_start[i];
    state[0] ^= Word8{} + std::uint64_t{0x01010000u ^ size};
    for (std::size_t block = 0; block < most; ++block) {
        Word8 m[16], counted{}, last{}, more{};
        for (std::size_t l = 0; l < blake2b_lanes; ++l) {
            const bool ends_here = block + 1 == blocks[l];
            const char* p = nothing;
            if (block < blocks[l]) p = ends_here ? ends[l] : texts[l].data() + block * blake2b_bytes;
            for (std::size_t i = 0; i < 16; ++i) m[i][l] = little_word(p + 8 * i);
            counted[l] = ends_here ? texts[l].size() : (block + 1) * blake2b_bytes;
            last[l] = ends_here ? ~std::uint64_t{0} : 0;
            more[l] = block < blocks[l] ? ~std::uint64_t{0} : 0;
        }
        Word8 next[8];
        std::copy(state, state + 8, next);
        blake2b_block<Word8>(next, m, counted, last);
        for (std::size_t i = 0; i < 8; ++i) state[i] = (next[i] & more) | (state[i] & ~more);
    }
    for (std::size_t l = 0; l < n; ++l)
        for (std::size_t i = 0; i < size; ++i) out[l][i] = static_cast<char>(state[i / 8][l] >> (8 * (i % 8)));
}

RANKLOOP_CLONES inline void blake2b_narrow(const std::string_view* texts, std::size_t n, std::size_t size,
                                           char* const* out) {
    blake2b_together(texts, n, size, out);
}

#ifdef RANKLOOP_AVX512
RANKLOOP_AVX512 inline void blake2b_wide(const std::string_view* texts, std::size_t n, std::size_t size,
                                         char* const* out) {
    blake2b_together(texts, n, size, out);
}
#endif

// Writes the digests of up to eight messages: together, or one by one where they are few.
inline void blake2b_some(const std::string_view* texts, std::size_t n, std::size_t size, char* const* out) {
    if (n < 4) {
        for (std::size_t l = 0; l < n; ++l) blake2b_alone(texts[l], size, out[l]);
        return;
    }
#ifdef RANKLOOP_AVX512
    static const bool wide = __builtin_cpu_supports("x86-64-v4");
    if (wide) return blake2b_wide(texts, n, size, out);
#endif
    blake2b_narrow(texts, n, size, out);
}

// Writes the digests of messages, of `size` bytes each, one after the other.
inline void blake2b(std::span<const std::string_view> texts, std::size_t size, char* out) {
    std::vector<std::size_t> order(texts.size());  // messages of about the same length go together
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return texts[a].size() < texts[b].size(); });
    for (std::size_t first = 0; first < order.size(); first += blake2b_lanes) {
        const std::size_t n = std::min(blake2b_lanes, order.size() - first);
        std::string_view some[blake2b_lanes];
        char* places[blake2b_lanes];
        for (std::size_t l = 0; l < n; ++l)
            some[l] = texts[order[first + l]], places[l] = out + size * order[first + l];
        blake2b_some(some, n, size, places);
    }
}

}  // namespace rankloop
