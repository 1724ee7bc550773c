// All kernels, compiled for every instruction set of this build, and the choice between them.
#pragma once

// The two headers hold declarations only and have no include guard: each inclusion declares all
// kernels in the namespace that PK_INSTRUCTION_SET names.
#define PK_INSTRUCTION_SET portable
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#if defined(PK_X86)
#define PK_INSTRUCTION_SET avx2
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#endif
#if defined(PK_AVX512)
#define PK_INSTRUCTION_SET avx512
#include "clustering/kernels.hpp"
#include "maps/kernels.hpp"
#undef PK_INSTRUCTION_SET
#endif

// The type of one kernel, such as PK_KERNEL(sign_product<float>), in all its compiled forms. The
// forms are in the order of `instruction_sets`.
#if defined(PK_AVX512)
#define PK_KERNEL(name) Kernel<&portable::name, &avx2::name, &avx512::name>
#elif defined(PK_X86)
#define PK_KERNEL(name) Kernel<&portable::name, &avx2::name>
#else
#define PK_KERNEL(name) Kernel<&portable::name>
#endif

namespace projected_kmeans {

// The instruction sets of this build, from the least to the most demanding.
#if defined(PK_AVX512)
constexpr const char *instruction_sets[] = {"portable", "avx2", "avx512"};
#elif defined(PK_X86)
constexpr const char *instruction_sets[] = {"portable", "avx2"};
#else
constexpr const char *instruction_sets[] = {"portable"};
#endif

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
