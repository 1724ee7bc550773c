// All kernels, compiled for every instruction set of this build, and the choice between them.
#pragma once

// The two headers hold declarations only and have no include guard: each inclusion declares all
// kernels in the namespace that PK_INSTRUCTION_SET names. PK_IN_AVX2(x) is ", x" if this build has
// kernels for AVX2, else nothing; the others likewise.
#define PK_INSTRUCTION_SET portable
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#if defined(PK_AVX2)
#define PK_INSTRUCTION_SET avx2
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#define PK_IN_AVX2(...) , __VA_ARGS__
#else
#define PK_IN_AVX2(...)
#endif
#if defined(PK_AVX512)
#define PK_INSTRUCTION_SET avx512
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#define PK_IN_AVX512(...) , __VA_ARGS__
#else
#define PK_IN_AVX512(...)
#endif
#if defined(PK_WIDE)
#define PK_INSTRUCTION_SET wide
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#define PK_IN_WIDE(...) , __VA_ARGS__
#else
#define PK_IN_WIDE(...)
#endif

// The type of one kernel, such as PK_KERNEL(sign_product<float>), in all its compiled forms. The
// forms are in the order of `instruction_sets`.
#define PK_KERNEL(name)                                                                            \
    Kernel<&portable::name PK_IN_AVX2(&avx2::name) PK_IN_AVX512(&avx512::name)                     \
               PK_IN_WIDE(&wide::name)>

namespace projected_kmeans {

// The instruction sets of this build, from the least to the most demanding. The last one, "wide",
// is only in builds for tests and is never chosen unless it is named: its vectors have 64 bytes, as
// with AVX-512, and the compiler makes each from two of AVX2.
constexpr const char *instruction_sets[] = {"portable" PK_IN_AVX2("avx2") PK_IN_AVX512("avx512")
                                                PK_IN_WIDE("wide")};

// The instruction set of this process, as a place in `instruction_sets`. It is chosen at the first
// call: the most demanding one that the machine runs, or the one that the environment variable
// PROJECTED_KMEANS_INSTRUCTION_SET names. Throws if that name is unknown or cannot run here.
int chosen_instruction_set();

template <auto first, auto... others> struct Kernel {
    // The kernel for the instruction set of this process, as a function pointer.
    static auto chosen() {
        constexpr decltype(first) compiled[] = {first, others...};
        return compiled[chosen_instruction_set()];
    }
};

}  // namespace projected_kmeans
