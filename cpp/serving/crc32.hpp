// The CRC-32 of zlib and Ethernet, sixteen bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rankloop {

inline constexpr auto crc_tables = [] {
    std::array<std::array<std::uint32_t, 256>, 16> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 16; ++k)
        for (std::size_t byte = 0; byte < 256; ++byte)
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 255];
    return tables;
}();

// Goes on from the CRC of what came before.
inline std::uint32_t crc32(std::string_view text, std::uint32_t before = 0) {
    const char* p = text.data();
    std::size_t left = text.size();
    std::uint32_t crc = ~before;
    for (; left >= 16; p += 16, left -= 16) {
        std::uint64_t words[2];
        std::memcpy(words, p, 16);  // little-endian, as is checked where arrays are
        words[0] ^= crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k)
            crc ^= crc_tables[15 - k][(words[0] >> (8 * k)) & 255] ^ crc_tables[7 - k][(words[1] >> (8 * k)) & 255];
    }
    for (; left; ++p, --left) crc = (crc >> 8) ^ crc_tables[0][(crc ^ static_cast<unsigned char>(*p)) & 255];
    return ~crc;
}

}  // namespace rankloop
