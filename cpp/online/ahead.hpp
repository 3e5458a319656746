// Work on the next queries that does not need the weights, done by a second thread while the first
// one learns. The result is the same with and without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>

namespace rankloop {

inline void relax(unsigned& spins) {
    if (++spins % 64 == 0) std::this_thread::yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

// Calls make(q) for q in 0..n in order, at most `depth` queries ahead of done(q). Where the system has no
// thread to give, wait(q) makes what it waits for.
template <std::size_t depth, typename Make>
class Ahead {
public:
    Ahead(std::size_t n, const Make& make) : make_(make) {
        try {
            thread_ = std::thread([this, n] { run(n); });
        } catch (const std::system_error&) {}
    }
    ~Ahead() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    void wait(std::size_t q) const {
        if (!thread_.joinable()) return make_(q);
        for (unsigned spins = 0; made_.load(std::memory_order_acquire) <= q; relax(spins)) {
            if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(error_);
        }
    }
    void done(std::size_t q) { done_.store(q + 1, std::memory_order_release); }

private:
    alignas(64) std::atomic<std::size_t> made_ = 0;
    alignas(64) std::atomic<std::size_t> done_ = 0;
    std::atomic<bool> stop_ = false, failed_ = false;
    std::exception_ptr error_;
    const Make& make_;
    std::thread thread_;

    void run(std::size_t n) {
        try {
            for (std::size_t q = 0; q < n; ++q) {
                for (unsigned spins = 0; q >= done_.load(std::memory_order_acquire) + depth; relax(spins)) {
                    if (stop_) return;
                }
                make_(q);
                made_.store(q + 1, std::memory_order_release);
            }
        } catch (...) {
            error_ = std::current_exception();
            failed_.store(true, std::memory_order_release);
        }
    }
};

// How many loops run in this process: other threads help only while there are processors for them.
class Running {
public:
    Running() : before_(count()++) {}
    ~Running() { --count(); }
    bool alone(unsigned processors) const { return share(processors) >= 2; }
    // The processors that each loop can have; 0 where there are fewer than loops.
    unsigned share(unsigned processors) const { return processors / static_cast<unsigned>(before_ + 1); }

private:
    int before_;
    static std::atomic<int>& count() {
        static std::atomic<int> loops = 0;
        return loops;
    }
};

}  // namespace rankloop
