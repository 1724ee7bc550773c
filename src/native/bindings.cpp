// The native module: its kernels, chosen for the machine, and what Python sees of them.
#include <cstdlib>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "arrays.hpp"

namespace projected_kmeans {

const Kernels &kernels() {
    static const Kernels *chosen = [] {
        const char *name = std::getenv("PROJECTED_KMEANS_INSTRUCTION_SET");
        const Kernels *found = choose_kernels(name ? name : "");
        if (!found)
            throw std::runtime_error(std::string("PROJECTED_KMEANS_INSTRUCTION_SET=") + name +
                                     " is not an instruction set of this build and machine; use "
                                     "portable, avx2 or avx512, or unset it");
        return found;
    }();
    return *chosen;
}

// Give the system back what was freed. Allocators keep it, as the peak of a step that is over.
static void release_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace projected_kmeans

NB_MODULE(_native, m) {
    m.def("instruction_set", [] { return projected_kmeans::kernels().instruction_set; });
    m.def("max_threads", [] { return omp_get_max_threads(); });
    m.def("release_memory", &projected_kmeans::release_memory);
    projected_kmeans::bind_maps(m);
    projected_kmeans::bind_clustering(m);
}
