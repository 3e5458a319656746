// Short vectors that the compiler keeps in registers, and memory that fits them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "linalg/clones.hpp"

namespace rankloop {

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float8 __attribute__((vector_size(32)));  // two registers without AVX
typedef double Double4 __attribute__((vector_size(32)));
typedef float Loose4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Loose8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double LooseDouble4 __attribute__((vector_size(32), aligned(8), may_alias));

RANKLOOP_INLINE Float4 load4(const float* p) { return *reinterpret_cast<const Loose4*>(p); }
RANKLOOP_INLINE Float8 load8(const float* p) { return *reinterpret_cast<const Loose8*>(p); }
RANKLOOP_INLINE void store8(float* p, Float8 v) { *reinterpret_cast<Loose8*>(p) = v; }

// The widest vector that both clones have a use for, by the type of its numbers.
template <typename T>
struct Wide;
template <>
struct Wide<float> {
    using type = Float8;
    using loose = Loose8;
};
template <>
struct Wide<double> {
    using type = Double4;
    using loose = LooseDouble4;
};
template <typename T>
constexpr std::size_t wide = 32 / sizeof(T);

template <typename T>
RANKLOOP_INLINE typename Wide<T>::type load_wide(const T* p) {
    return *reinterpret_cast<const typename Wide<T>::loose*>(p);
}
template <typename T>
RANKLOOP_INLINE void store_wide(T* p, typename Wide<T>::type v) {
    *reinterpret_cast<typename Wide<T>::loose*>(p) = v;
}

// Starts at a cache line, so that no aligned load of a vector crosses one.
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

template <typename T>
using LinesOf = std::vector<T, LineAllocator<T>>;
using Lines = LinesOf<float>;

}  // namespace rankloop
