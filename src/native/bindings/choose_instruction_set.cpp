// Chooses the instruction set for this process. Compiled for the lowest instruction set only.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>

#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

// How many of `instruction_sets`, counted from the first, this machine runs.
int count_supported() {
#if defined(PK_X86)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi");
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return has_avx512 ? 3 : has_avx2 ? 2 : 1;
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
