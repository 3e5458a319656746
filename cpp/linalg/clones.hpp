// One source, two instruction sets: the loader picks the AVX2 clone where the processor has it.
// No -march=native, so a wheel runs everywhere; no -ffast-math, so isnan works and sums keep order.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RANKLOOP_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define RANKLOOP_CLONES
#endif
