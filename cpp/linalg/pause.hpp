// Long loops tell how much they did, so that whoever called them can be interrupted.
#pragma once

#include <cstddef>

namespace rankloop {

// While it lives, did_work() calls a function now and then, on this thread only; the function may throw.
class Interruptible {
public:
    using Function = void (*)();

    explicit Interruptible(Function function) : before_(current()) { current() = {function, 0}; }
    ~Interruptible() { current() = before_; }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

private:
    struct Call {
        Function function = nullptr;
        std::size_t work = 0;
    };
    Call before_;

    static Call& current() {
        static thread_local Call call;
        return call;
    }
    friend void did_work(std::size_t);
};

// Multiplications, roughly.
inline void did_work(std::size_t work) {
    constexpr std::size_t between = std::size_t{1} << 24;  // some milliseconds
    Interruptible::Call& call = Interruptible::current();
    if ((call.work += work) < between) return;
    call.work = 0;
    if (call.function) call.function();
}

}  // namespace rankloop
