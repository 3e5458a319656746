// BLAKE2b with a digest of 16 bytes and no key (RFC 7693); of many texts, four at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "linalg/clones.hpp"

namespace rankloop {

static_assert(std::endian::native == std::endian::little, "words are read as they stand");

using Blake2bDigest = std::array<char, 16>;

// The hash of one text, where Word is a word of 64 bits; or of several, where it is as many side by side.
template <typename Word>
class Blake2bHash {
public:
    static constexpr std::size_t block = 128;

    RANKLOOP_INLINE Blake2bHash() {
        for (int i = 0; i < 8; ++i) h_[i] = Word{} + start[i];
        h_[0] ^= 0x01010000 ^ sizeof(Blake2bDigest);
    }

    // Takes in the next block: `so_far` bytes with it, and `last` with all bits where it is the last one.
    RANKLOOP_INLINE void mix(const Word* m, Word so_far, Word last) {
        Word v[16];
        for (int i = 0; i < 8; ++i) v[i] = h_[i], v[i + 8] = Word{} + start[i];
        v[12] ^= so_far;
        v[14] ^= last;
        rounds(v, m, std::make_index_sequence<12>{});
        for (int i = 0; i < 8; ++i) h_[i] ^= v[i] ^ v[i + 8];
    }

    // Two of these words are the digest.
    RANKLOOP_INLINE const Word* words() const { return h_; }

private:
    static constexpr std::array<std::uint64_t, 8> start = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                           0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                           0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    static constexpr std::uint8_t order[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    template <int bits>
    static RANKLOOP_INLINE void turn(Word& word) {
        word = (word >> bits) | (word << (64 - bits));
    }

    static RANKLOOP_INLINE void quarter(Word& a, Word& b, Word& c, Word& d, const Word& x, const Word& y) {
        a += b + x;
        turn<32>(d ^= a);
        c += d;
        turn<24>(b ^= c);
        a += b + y;
        turn<16>(d ^= a);
        c += d;
        turn<63>(b ^= c);
    }

    template <std::size_t... Round>
    static RANKLOOP_INLINE void rounds(Word* v, const Word* m, std::index_sequence<Round...>) {
        (round<Round % 10>(v, m), ...);
    }

    template <std::size_t Row>
    static RANKLOOP_INLINE void round(Word* v, const Word* m) {
        constexpr const std::uint8_t (&s)[16] = order[Row];
        quarter(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        quarter(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        quarter(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        quarter(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        quarter(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        quarter(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        quarter(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        quarter(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }

    Word h_[8];
};

// A text block by block; the last one is filled up with zeros, and so are those beyond the end.
class Blake2bBlocks {
public:
    static constexpr std::size_t block = 128, words = 16;

    explicit Blake2bBlocks(std::string_view text) : text_(text) {
        const std::size_t whole = (count() - 1) * block;
        if (whole < text.size()) std::memcpy(end_, text.data() + whole, text.size() - whole);
    }

    std::size_t count() const { return std::max<std::size_t>((text_.size() + block - 1) / block, 1); }
    const char* at(std::size_t b) const { return b + 1 < count() ? text_.data() + b * block : end_; }
    std::uint64_t so_far(std::size_t b) const { return std::min((b + 1) * block, text_.size()); }
    std::uint64_t last(std::size_t b) const { return b + 1 == count() ? ~std::uint64_t{} : 0; }

private:
    std::string_view text_;
    char end_[block] = {};
};

inline Blake2bDigest blake2b(std::string_view text) {
    const Blake2bBlocks blocks(text);
    Blake2bHash<std::uint64_t> hash;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
        std::uint64_t m[Blake2bBlocks::words];
        std::memcpy(m, blocks.at(b), sizeof m);
        hash.mix(m, blocks.so_far(b), blocks.last(b));
    }
    Blake2bDigest digest;
    std::memcpy(digest.data(), hash.words(), digest.size());
    return digest;
}

// The digests of four texts, in less than half the time that each of them takes alone.
RANKLOOP_CLONES inline void blake2b_of_four(const std::string_view* texts, Blake2bDigest* digests) {
    using Four = std::uint64_t __attribute__((vector_size(32)));
    const Blake2bBlocks blocks[4] = {Blake2bBlocks(texts[0]), Blake2bBlocks(texts[1]), Blake2bBlocks(texts[2]),
                                     Blake2bBlocks(texts[3])};
    std::size_t most = 0;
    for (const Blake2bBlocks& one : blocks) most = std::max(most, one.count());
    Blake2bHash<Four> hash;
    for (std::size_t b = 0; b < most; ++b) {
        std::uint64_t m[4][Blake2bBlocks::words];
        Four side[Blake2bBlocks::words], so_far, last;
        for (int lane = 0; lane < 4; ++lane) {
            std::memcpy(m[lane], blocks[lane].at(b), sizeof m[lane]);
            so_far[lane] = blocks[lane].so_far(b);
            last[lane] = blocks[lane].last(b);
        }
        for (std::size_t i = 0; i < Blake2bBlocks::words; ++i) side[i] = Four{m[0][i], m[1][i], m[2][i], m[3][i]};
        hash.mix(side, so_far, last);
        for (int lane = 0; lane < 4; ++lane) {
            if (b + 1 != blocks[lane].count()) continue;
            const std::uint64_t words[2] = {hash.words()[0][lane], hash.words()[1][lane]};
            std::memcpy(digests[lane].data(), words, sizeof words);
        }
    }
}

}  // namespace rankloop
