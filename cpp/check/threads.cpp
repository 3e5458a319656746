// What the loops on threads do where a thread cannot be started or a body throws. Prints nothing where all is well.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/parallel.hpp"
#include "online/ahead.hpp"

static std::atomic<int> threads_left{1000};

// In place of the system's: gives so many threads, and then no more.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return threads_left-- > 0 ? create(thread, attributes, start, argument) : EAGAIN;
}

static void require(bool holds, const char* what) {
    if (holds) return;
    std::printf("%s\n", what);
    std::exit(1);
}

static void every_part_is_done_once(int available) {
    threads_left = available;
    std::vector<std::atomic<int>> done(1000);
    rankloop::parallel_parts(done.size(), 10, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++done[i];
    });
    for (const auto& count : done) require(count == 1, "an item was not done once");
}

static void the_first_error_is_thrown_when_all_have_ended(int available) {
    threads_left = available;
    std::atomic<int> ended = 0;
    std::string caught;
    try {
        rankloop::parallel_parts(80, 10, 8, [&](std::size_t begin, std::size_t) {
            ++ended;
            if (begin == 30 || begin == 50 || begin == 70) throw std::runtime_error(std::to_string(begin));
        });
    } catch (const std::runtime_error& error) {
        caught = error.what();
    }
    require(caught == "30", "the error of the first part that failed was not thrown");
    require(ended == 8, "a part was left out");
}

static void work_ahead_is_done_in_order(int available) {
    threads_left = available;
    std::vector<int> made(200);
    const auto make = [&](std::size_t q) { made[q] = static_cast<int>(q) + 1; };
    rankloop::Ahead<8, decltype(make)> ahead(made.size(), make);
    for (std::size_t q = 0; q < made.size(); ++q) {
        ahead.wait(q);
        require(made[q] == static_cast<int>(q) + 1, "a query was not prepared");
        ahead.done(q);
    }
}

static void an_error_ahead_is_thrown_where_it_is_waited_for(int available) {
    threads_left = available;
    const auto make = [](std::size_t q) {
        if (q == 20) throw std::runtime_error("twenty");
    };
    std::size_t reached = 0;
    try {
        rankloop::Ahead<8, decltype(make)> ahead(100, make);
        for (; reached < 100; ++reached) ahead.wait(reached), ahead.done(reached);
    } catch (const std::runtime_error&) {}
    require(reached >= 12 && reached <= 20, "an error ahead was lost, or came too early");
}

int main() {
    for (const int available : {1000, 3, 1, 0}) {
        every_part_is_done_once(available);
        the_first_error_is_thrown_when_all_have_ended(available);
        work_ahead_is_done_in_order(available);
        an_error_ahead_is_thrown_where_it_is_waited_for(available);
        threads_left = available;
        require(rankloop::startable_threads(6) == static_cast<unsigned>(std::min(available + 1, 6)),
                "threads were not counted");
    }
}
