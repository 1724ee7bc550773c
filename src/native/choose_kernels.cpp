// Picks the kernels for the machine at hand. Compiled for the lowest instruction set only.
#include <cstring>

#include "kernels.hpp"

namespace projected_kmeans {

namespace portable {
extern const Kernels kernels;
}
#if defined(PK_X86)
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

const Kernels *choose_kernels(const char *name) {
    const auto asked_for = [name](const Kernels &kernels) {
        return *name == '\0' || std::strcmp(name, kernels.instruction_set) == 0;
    };
#if defined(PK_X86)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi");
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (has_avx512 && asked_for(avx512::kernels)) return &avx512::kernels;
    if (has_avx2 && asked_for(avx2::kernels)) return &avx2::kernels;
#endif
    return asked_for(portable::kernels) ? &portable::kernels : nullptr;
}

}  // namespace projected_kmeans
