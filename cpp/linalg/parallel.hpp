// A loop over queries on several threads; worth it only where there is much to do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace rankloop {

// Calls body(begin, end) on contiguous parts of 0..n, at least `least` items each. Where the system has no
// more threads to give, this one does their parts too. What a body throws is thrown here, once all have
// ended: that of the first part, if several do.
template <typename Body>
void parallel_parts(std::size_t n, std::size_t least, unsigned threads, const Body& body) {
    const std::size_t parts = std::clamp<std::size_t>(n / std::max<std::size_t>(least, 1), 1, std::max(threads, 1u));
    std::vector<std::exception_ptr> errors(parts);
    const auto run = [&](std::size_t k) noexcept {
        try {
            body(n * k / parts, n * (k + 1) / parts);
        } catch (...) {
            errors[k] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(parts - 1);
    std::size_t started = 1;
    try {
        for (; started < parts; ++started) others.emplace_back(run, started);
    } catch (const std::system_error&) {}
    run(0);
    for (std::size_t k = started; k < parts; ++k) run(k);
    for (auto& thread : others) thread.join();
    for (const auto& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

// Calls body(k) for each k in 0..n, on threads that take the next one when they have done theirs.
template <typename Body>
void parallel_jobs(std::size_t n, unsigned threads, const Body& body) {
    std::atomic<std::size_t> next = 0;
    parallel_parts(std::min<std::size_t>(n, threads), 1, threads, [&](std::size_t, std::size_t) {
        for (std::size_t k = next++; k < n; k = next++) body(k);
    });
}

// How many threads can run at once, this one among them, up to `most`: for a library that ends the process where
// it cannot have as many as it is told to use.
inline unsigned startable_threads(unsigned most) {
    std::vector<std::thread> others;
    others.reserve(most);
    std::mutex all_started;
    {
        const std::lock_guard lock(all_started);
        try {
            while (others.size() + 1 < most) others.emplace_back([&] { const std::lock_guard wait(all_started); });
        } catch (const std::system_error&) {}
    }
    for (auto& thread : others) thread.join();
    return static_cast<unsigned>(others.size()) + 1;
}

}  // namespace rankloop
