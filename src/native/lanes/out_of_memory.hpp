// What kernels throw if there is no memory for them. Defined once, in bindings/out_of_memory.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace projected_kmeans {

// Throws a std::bad_alloc, which Python sees as a MemoryError. Its sentence says that `count`
// values of `size` bytes each were asked for.
[[noreturn]] void throw_out_of_memory(std::int64_t count, std::size_t size);

}  // namespace projected_kmeans
