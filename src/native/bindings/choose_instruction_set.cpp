// Chooses the instruction set for this process. Compiled for the lowest instruction set only.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#if defined(PK_X86)
#include <cpuid.h>
#endif

#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

#if defined(PK_X86)
// Whether the machine converts half precision in hardware. The bit is read here, because clang's
// __builtin_cpu_supports did not know "f16c" for years. The conversions use the same registers as
// AVX2, so where AVX2 may be used, they may be.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

// How many of `instruction_sets`, counted from the first, this machine runs.
int count_supported() {
#if defined(PK_X86)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          has_f16c() && __builtin_cpu_supports("bmi");
#if defined(PK_AVX512)
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (has_avx512) return 3;
#endif
    return has_avx2 ? 2 : 1;
#else
    return 1;
#endif
}

int choose() {
    const int n_supported = count_supported();
    const char *name = std::getenv("PROJECTED_KMEANS_INSTRUCTION_SET");
    if (!name || *name == '\0') return n_supported - 1;
    for (int i = 0; i < n_supported; ++i)
        if (std::strcmp(name, instruction_sets[i]) == 0) return i;
    throw std::runtime_error(std::string("PROJECTED_KMEANS_INSTRUCTION_SET=") + name +
                             " is not an instruction set of this build and machine; use "
                             "portable, avx2 or avx512, or unset it");
}

}  // namespace

int chosen_instruction_set() {
    static const int chosen = choose();
    return chosen;
}

}  // namespace projected_kmeans
