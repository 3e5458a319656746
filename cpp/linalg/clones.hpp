// One source, two instruction sets: the loader picks the AVX2 clone where the processor has it. Both
// compute the same bits: sums have a fixed number of lanes, and -ffp-contract=off keeps a product and
// a sum from becoming one rounding on the processors that could. No -march=native, no -ffast-math.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && !defined(RANKLOOP_NO_CLONES) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RANKLOOP_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define RANKLOOP_CLONES
#endif
#define RANKLOOP_INLINE __attribute__((always_inline)) inline
