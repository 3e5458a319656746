// A loop over queries on several threads; worth it only where there is much to do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace rankloop {

// Calls body(begin, end) on contiguous parts of 0..n, at least `least` items each.
template <typename Body>
void parallel_parts(std::size_t n, std::size_t least, unsigned threads, const Body& body) {
    const std::size_t parts = std::clamp<std::size_t>(n / std::max<std::size_t>(least, 1), 1, std::max(threads, 1u));
    std::vector<std::thread> others;
    for (std::size_t k = 1; k < parts; ++k) {
        others.emplace_back([&, k] { body(n * k / parts, n * (k + 1) / parts); });
    }
    body(std::size_t{0}, n / parts);
    for (auto& thread : others) thread.join();
}

}  // namespace rankloop
