// Chooses the instruction set for this process. Compiled for the lowest instruction set only.
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
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

// Whether this machine runs the kernels of an instruction set.
bool is_supported([[maybe_unused]] std::string_view name) {
#if defined(PK_X86)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          has_f16c() && __builtin_cpu_supports("bmi");
    if (name == "avx2" || name == "wide") return has_avx2;
    if (name == "avx512")
        return has_avx2 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return true;
}

int choose() {
    const char *variable = std::getenv("PROJECTED_KMEANS_INSTRUCTION_SET");
    const std::string_view wanted = variable ? variable : "";
    int chosen = -1;
    for (int i = 0; i < static_cast<int>(std::size(instruction_sets)); ++i) {
        const std::string_view name = instruction_sets[i];
        if ((wanted.empty() ? name != "wide" : name == wanted) && is_supported(name)) chosen = i;
    }
    if (chosen >= 0) return chosen;
    throw std::runtime_error("PROJECTED_KMEANS_INSTRUCTION_SET=" + std::string(wanted) +
                             " is not an instruction set of this build and machine; use "
                             "portable, avx2 or avx512, or unset it");
}

}  // namespace

int chosen_instruction_set() {
    static const int chosen = choose();
    return chosen;
}

}  // namespace projected_kmeans
