// Chooses the number of threads, and keeps OpenMP alive across fork().
//
// GCC's OpenMP runtime keeps the threads of a parallel region for the next one. A forked child has
// a copy of that list, but not the threads, so its first parallel region would wait for them for
// ever. So the threads are sent home before every fork, by the call that OpenMP has for this, and
// both processes start new ones when they need them. LLVM's runtime looks after forks by itself, if
// it is started so that it does.
#include "bindings/threads.hpp"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "lanes/out_of_memory.hpp"

namespace projected_kmeans {
namespace {

// Memory that the OpenMP runtime may need for itself at the start of a parallel region. It ends the
// process if it gets none.
constexpr std::int64_t runtime_bytes = std::int64_t{64} << 10;
constexpr std::int64_t runtime_bytes_per_thread = std::int64_t{16} << 10;

// True in a child that was forked inside of a parallel region. Its OpenMP cannot start threads.
bool threads_are_lost = false;

// The memory of these variables comes with the thread. Other thread-local variables of a loaded
// module are allocated at their first use, and the process ends if that fails.
#if defined(__linux__)
#define PK_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define PK_THREAD_LOCAL thread_local
#endif

// The threads that OpenMP keeps for this thread, itself included.
PK_THREAD_LOCAL int n_kept = 1;

// After the system refused threads, this many calls of kernels do with those that there are.
constexpr int calls_before_retry = 256;
PK_THREAD_LOCAL int calls_to_wait = 0;

// Whether OpenMP let them go before the fork that is under way.
PK_THREAD_LOCAL bool pool_is_empty = true;

// Kernels with less work run on one thread. One thread does this much in about 0.5 ms; below it, a
// second thread saves less than waking it and waiting for it may cost.
constexpr double min_shared_work = 8e6;

// The same on a busy machine, about 10 ms. Beside two busy processes on two processors, a product
// of 8e6 multiplications took 2 ms on one thread and 21 ms on two, which waited for each other;
// from 1e8 on, two threads took no longer than one.
constexpr double min_shared_work_if_busy = 1e8;

// A machine counts as busy if the system took the processor away from this thread more often than
// that in a second of its own time. Beside as many busy processes as processors, it did so 300 to
// 660 times.
constexpr double switches_per_second = 60;
// Switches are counted over at least this much time of the thread.
constexpr double seconds_of_count = 0.01;

bool is_free(std::int64_t n_bytes) {
    void *volatile memory = std::malloc(static_cast<std::size_t>(n_bytes));
    std::free(memory);
    return memory != nullptr;
}

// Whether other processes compete for the processor of this thread, judged by how often the system
// took it away since the last look. The first look sees all of the thread's life.
bool machine_is_busy() {
#if defined(RUSAGE_THREAD)
    PK_THREAD_LOCAL static double seconds_seen = 0;
    PK_THREAD_LOCAL static long switches_seen = 0;
    PK_THREAD_LOCAL static bool busy = false;
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) != 0) return false;
    const double seconds =
        static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
        1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    if (seconds - seconds_seen >= seconds_of_count) {
        const auto switches = static_cast<double>(used.ru_nivcsw - switches_seen);
        busy = switches > switches_per_second * (seconds - seconds_seen);
        seconds_seen = seconds;
        switches_seen = used.ru_nivcsw;
    }
    return busy;
#else
    return false;
#endif
}

bool is_too_little(double work) {
    if (work < min_shared_work) return true;
    return work < min_shared_work_if_busy && machine_is_busy();
}

// How many of n more threads may be started: all, or half of those that the system can start now,
// which leaves room for others. They are tried at the same time, and do nothing.
int count_startable(int n) {
    std::atomic<bool> over = false;
    std::vector<std::thread> threads;
    try {
        threads.reserve(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) threads.emplace_back([&over] { over.wait(false); });
    } catch (const std::system_error &) {  // no more threads
    } catch (const std::bad_alloc &) {     // no more memory
    }
    auto n_started = static_cast<int>(threads.size());
    if (n_started < n) n_started /= 2;
    if (!is_free(n_started * runtime_bytes_per_thread)) n_started = 0;
    over = true;
    over.notify_all();
    for (std::thread &thread : threads) thread.join();
    return n_started;
}

// Makes OpenMP keep up to n threads; returns how many. They start now, because the memory that a
// kernel allocates next may leave no room for their stacks.
int start_threads(int n) {
    const int found = n_kept + count_startable(n - n_kept);
#pragma omp parallel num_threads(found) if (found > n_kept)
    {
        asm volatile("");  // keeps the compiler from leaving out a region that does nothing
    }
    return found;
}

// Whether this OpenMP runtime is LLVM's or Intel's, also under the name of GCC's.
bool runtime_handles_forks() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&omp_get_num_procs), &info)) return false;
    void *runtime = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!runtime) return false;
    const bool found = dlsym(runtime, "kmp_set_blocktime") != nullptr;
    dlclose(runtime);
    return found;
}

// Starts LLVM's runtime such that it looks after forks. It does not if the environment variable
// KMP_INIT_AT_FORK is FALSE when it starts, and scikit-learn sets that when it is imported, because
// of an old version of Intel's runtime. (TRUE is no help: LLVM 14 then hangs in a child's child.)
void start_with_care_for_forks() {
    const char *name = "KMP_INIT_AT_FORK";
    const char *value = std::getenv(name);
    const std::string kept = value ? value : "";
    if (value) unsetenv(name);
    omp_get_max_threads();  // starts the runtime, if no other module did
    if (value) setenv(name, kept.c_str(), 1);
}

void before_fork() {
    pool_is_empty = omp_pause_resource_all(omp_pause_hard) == 0;
    if (pool_is_empty) n_kept = 1;
}

void after_fork_in_child() {
    if (!pool_is_empty) threads_are_lost = true;
}

}  // namespace

int max_threads(int n_threads) {
    if (n_threads < 0)
        throw std::invalid_argument("n_threads is at least 1, or 0 for as many as OpenMP allows");
    static const int most = omp_get_num_procs() > 16 ? 4 * omp_get_num_procs() : 64;
    const int wanted = n_threads > 0 ? n_threads : omp_get_max_threads();
    const int limit = omp_get_thread_limit() < most ? omp_get_thread_limit() : most;
    return wanted < limit ? wanted : limit;
}

int thread_count(int n_threads, double work) {
    int n = max_threads(n_threads);
    if (!is_free(runtime_bytes)) throw_out_of_memory(runtime_bytes, 1);
    if (n <= 1 || threads_are_lost) return 1;
    if (n_threads == 0 && is_too_little(work)) return 1;
    if (n > n_kept && calls_to_wait > 0) {
        --calls_to_wait;
        n = n_kept;
    } else if (n > n_kept) {
        const int wanted = n;
        n = start_threads(wanted);
        if (n < wanted) calls_to_wait = calls_before_retry;
    }
    if (n > 1) n_kept = n;  // OpenMP lets threads go that the next region does not use
    return n;
}

void prepare_for_forks() {
    if (runtime_handles_forks()) {
        start_with_care_for_forks();
        pthread_atfork(nullptr, nullptr, [] { n_kept = 1; });
    } else {
        pthread_atfork(before_fork, nullptr, after_fork_in_child);
    }
}

}  // namespace projected_kmeans
