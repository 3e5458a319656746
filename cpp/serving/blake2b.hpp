// BLAKE2b with a digest of 16 bytes and no key (RFC 7693).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace rankloop {

static_assert(std::endian::native == std::endian::little, "words are read as they stand");

class Blake2b {
   public:
    using Digest = std::array<char, 16>;

    static Digest of(std::string_view text) {
        Blake2b hash;
        const char* p = text.data();
        std::size_t left = text.size();
        std::uint64_t done = 0;
        for (; left > block; p += block, left -= block) hash.mix(p, done += block, false);
        char last[block] = {};
        if (left) std::memcpy(last, p, left);
        hash.mix(last, done + left, true);
        Digest digest;
        std::memcpy(digest.data(), hash.h_.data(), digest.size());
        return digest;
    }

   private:
    static constexpr std::size_t block = 128;
    static constexpr std::array<std::uint64_t, 8> start = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    static constexpr std::uint8_t order[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    Blake2b() : h_(start) { h_[0] ^= 0x01010000 ^ sizeof(Digest); }

    static void quarter(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d, std::uint64_t x, std::uint64_t y) {
        a += b + x;
        d = std::rotr(d ^ a, 32);
        c += d;
        b = std::rotr(b ^ c, 24);
        a += b + y;
        d = std::rotr(d ^ a, 16);
        c += d;
        b = std::rotr(b ^ c, 63);
    }

    template <std::size_t... Round>
    static void rounds(std::uint64_t* v, const std::uint64_t* m, std::index_sequence<Round...>) {
        (round<Round % 10>(v, m), ...);
    }

    template <std::size_t Row>
    static void round(std::uint64_t* v, const std::uint64_t* m) {
        constexpr const std::uint8_t(&s)[16] = order[Row];
        quarter(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        quarter(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        quarter(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        quarter(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        quarter(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        quarter(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        quarter(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        quarter(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }

    void mix(const char* text, std::uint64_t so_far, bool last) {
        std::uint64_t m[16], v[16];
        std::memcpy(m, text, block);
        for (int i = 0; i < 8; ++i) v[i] = h_[i], v[i + 8] = start[i];
        v[12] ^= so_far;
        if (last) v[14] = ~v[14];
        rounds(v, m, std::make_index_sequence<12>{});
        for (int i = 0; i < 8; ++i) h_[i] ^= v[i] ^ v[i + 8];
    }

    std::array<std::uint64_t, 8> h_;
};

}  // namespace rankloop
