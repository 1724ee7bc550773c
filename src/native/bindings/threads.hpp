// How many threads a kernel may use.
#pragma once

#include <cstdint>
#include <limits>

namespace projected_kmeans {

// The maximum number of threads for work that was asked to use `n_threads`, where 0 stands for as
// many as OpenMP allows. It is capped at four for each processor that this process may use, but not
// below 64. Results have the same bits for any number.
int max_threads(int n_threads);

// Work of a kernel is counted in multiplications of a product. A kernel that adds, compares or
// rounds the entries of rows takes about as long as with so many multiplications for each entry.
constexpr std::int64_t work_per_entry = 8;

// The number of threads for a kernel: max_threads(n_threads), or fewer if the system does not start
// so many. (The OpenMP runtime would end the process if it could not start a thread.) If n_threads
// is 0, it is 1 for work that is too little to share, and more is too little while other processes
// keep the processors busy. Call it once for each kernel, just before it runs.
int thread_count(int n_threads, double work = std::numeric_limits<double>::infinity());

// Makes OpenMP work in children that are forked after a kernel has run. Called once, when the
// module is loaded.
void prepare_for_forks();

}  // namespace projected_kmeans
