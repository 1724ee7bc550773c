// The module projected_kmeans._native: its functions and the constants that Python shares.
#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bindings/arrays.hpp"
#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

// Gives freed memory back to the system. Allocators keep it otherwise, and the peak of a step that
// is over would be added to that of the next.
void release_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

template <class Names> nb::tuple tuple_of(const Names &names) {
    nb::list list;
    for (const char *name : names) list.append(nb::str(name));
    return nb::tuple(list);
}

// What Python must know of the layouts that kernels read and write. Python takes these numbers from
// here and repeats none of them.
void bind_constants(nb::module_ &m) {
    m.attr("INSTRUCTION_SETS") = tuple_of(instruction_sets);
    m.attr("ELEMENT_TYPES") = tuple_of(element_names);
    m.attr("BOUNDS_PER_ROW") = bounds_per_row;
    m.attr("CENTERS_TOGETHER") = centers_together;
    m.attr("MAX_QUANTA") = max_quanta;
    m.attr("MAX_NARROW_CENTERS") = max_narrow_centers;
    m.attr("TILE_ROWS") = Tiles<double>::n_rows;
    m.attr("DOT_SPAN") = dot_span;
    m.attr("MAX_NONZEROS") = max_nonzeros;
}

}  // namespace
}  // namespace projected_kmeans

NB_MODULE(_native, m) {
    using namespace projected_kmeans;
    m.def("instruction_set", [] { return instruction_sets[chosen_instruction_set()]; });
    m.def("max_threads", &max_threads, "n_threads"_a = 0);
    m.def("release_memory", &release_memory);
    prepare_for_forks();
    bind_errors();
    bind_constants(m);
    bind_maps(m);
    bind_nearest(m);
    bind_clustering(m);
    bind_lists(m);
    bind_mapped_files(m);
}
