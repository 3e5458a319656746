// Short vectors that the compiler keeps in registers, and memory that fits them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace rankloop {

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float8 __attribute__((vector_size(32)));  // two registers without AVX
typedef float Loose4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Loose8 __attribute__((vector_size(32), aligned(4), may_alias));

__attribute__((always_inline)) inline Float4 load4(const float* p) { return *reinterpret_cast<const Loose4*>(p); }
__attribute__((always_inline)) inline Float8 load8(const float* p) { return *reinterpret_cast<const Loose8*>(p); }
__attribute__((always_inline)) inline void store8(float* p, Float8 v) { *reinterpret_cast<Loose8*>(p) = v; }

// Starts at a cache line, so that no load of eight from a multiple of eight crosses one.
template <typename T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t line{64};

    LineAllocator() = default;
    template <typename U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
    bool operator==(const LineAllocator&) const { return true; }
};

using Lines = std::vector<float, LineAllocator<float>>;

}  // namespace rankloop
