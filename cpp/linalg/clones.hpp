// One source, two instruction sets: the loader picks the AVX2 clone where the processor has it. Both
// compute the same bits: sums have a fixed number of lanes, and -ffp-contract=off keeps a product and
// a sum from becoming one rounding on the processors that could. No -march=native, no -ffast-math.
//
// GCC on Linux only: clang 14 defines what chooses between clones once a file, which does not link. What it builds is
// for the plainest processor of its kind: right, but slower on x86-64.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(RANKLOOP_NO_CLONES) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RANKLOOP_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define RANKLOOP_AVX512 __attribute__((target("arch=x86-64-v4")))  // for what is written for its registers
#else
#define RANKLOOP_CLONES
#endif
#define RANKLOOP_INLINE __attribute__((always_inline)) inline
