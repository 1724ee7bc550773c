// How many threads a kernel may use.
#pragma once

namespace projected_kmeans {

// The maximum number of threads for work that was asked to use `n_threads`, where 0 stands for as
// many as OpenMP allows. It is capped at four for each processor that this process may use, but not
// below 64. Results have the same bits for any number.
int max_threads(int n_threads);

// The number of threads for a kernel: max_threads(n_threads), or fewer if the system does not start
// so many. (The OpenMP runtime would end the process if it could not start a thread.) Call it once
// for each kernel, just before it runs.
int thread_count(int n_threads);

// Makes OpenMP work in children that are forked after a kernel has run. Called once, when the
// module is loaded.
void prepare_for_forks();

}  // namespace projected_kmeans
