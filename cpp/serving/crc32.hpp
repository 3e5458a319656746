// The checksum of zlib (CRC-32), eight bytes a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rankloop {

class Crc32 {
public:
    // Continues from the checksum of what came before; 0 at the start.
    static std::uint32_t of(std::string_view text, std::uint32_t before = 0) {
        static const Tables t = tables();
        const auto* p = reinterpret_cast<const unsigned char*>(text.data());
        std::size_t left = text.size();
        std::uint32_t crc = ~before;
        const auto four = [](const unsigned char* q) {
            return std::uint32_t{q[0]} | std::uint32_t{q[1]} << 8 | std::uint32_t{q[2]} << 16 |
                   std::uint32_t{q[3]} << 24;
        };
        for (; left >= 16; p += 16, left -= 16) {
            const std::uint32_t w[4] = {crc ^ four(p), four(p + 4), four(p + 8), four(p + 12)};
            crc = 0;
            for (std::size_t k = 0; k < 4; ++k)
                for (std::size_t b = 0; b < 4; ++b) crc ^= t[15 - 4 * k - b][w[k] >> (8 * b) & 0xff];
        }
        for (; left > 0; ++p, --left) crc = crc >> 8 ^ t[0][(crc ^ *p) & 0xff];
        return ~crc;
    }

private:
    using Tables = std::array<std::array<std::uint32_t, 256>, 16>;

    static Tables tables() {
        Tables t{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            std::uint32_t crc = n;
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
            t[0][n] = crc;
        }
        for (std::size_t k = 1; k < t.size(); ++k)
            for (std::size_t n = 0; n < 256; ++n) t[k][n] = t[k - 1][n] >> 8 ^ t[0][t[k - 1][n] & 0xff];
        return t;
    }
};

}  // namespace rankloop
