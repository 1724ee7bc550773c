// Defects on purpose: `make sanitize` believes a sanitizer only if it reports every one of them.
//
// CMakeLists.txt compiles this file as it compiles the kernels, once for each instruction set, if
// the sanitizers are on. planted_defects.py calls the functions and knows the reports that they
// must cause. The functions whose names begin with "sound" must cause none.
#include <omp.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lanes/buffer.hpp"
#include "lanes/vectors.hpp"

#define PK_PLANTED extern "C" __attribute__((visibility("default")))

extern "C" void *PyBytes_FromStringAndSize(const char *, std::ptrdiff_t);

void projected_kmeans::throw_out_of_memory(std::int64_t, std::size_t) { std::abort(); }

namespace {

using namespace projected_kmeans::PK_INSTRUCTION_SET;

// Volatile, so that the compiler neither knows the sizes nor drops the results.
volatile std::int64_t count = 100;
volatile std::int64_t lost_bytes = 5000;
volatile double result;

float *allocate() { return static_cast<float *>(std::calloc(count, sizeof(float))); }

// The last vector that begins below `end` is read as the kernels read vectors.
void read_vector(const float *end) { result = sum_lanes<float>(load(end - n_lanes<float>)); }

// The compiler drops an allocation that nobody writes to.
void use(void *memory) {
    if (!memory) std::abort();
    static_cast<volatile char *>(memory)[lost_bytes - 1] = 1;
}

}  // namespace

// ------------------------------------------------------------------ AddressSanitizer

PK_PLANTED void read_past_array() {
    float *array = allocate();
    read_vector(array + count + 1);
    std::free(array);
}

PK_PLANTED void write_past_array() {
    float *array = allocate();
    array[count] = 1;
    std::free(array);
}

PK_PLANTED void read_past_scratch() {
    Buffer<float> scratch(count);
    for (std::int64_t i = 0; i < count; ++i) scratch[i] = 1;
    result = scratch[count];
}

PK_PLANTED void write_past_scratch() {
    Buffer<float> scratch(count);
    scratch[count] = 1;
}

PK_PLANTED void read_freed_array() {
    float *array = allocate();
    std::free(array);
    result = array[0];
}

// ---------------------------------------------------------- UndefinedBehaviorSanitizer

PK_PLANTED void overflow_integer() {
    volatile int most = INT_MAX;
    result = most + 1;
}

PK_PLANTED void convert_large_number() {
    volatile double large = 1e30;
    result = static_cast<std::int32_t>(large);
}

// -------------------------------------------------------------------------- memcheck

PK_PLANTED void branch_on_unwritten_value() {
    Buffer<float> scratch(count);
    scratch[0] = 1;
    result = scratch[count - 1] > 0 ? 1 : 2;
}

// --------------------------------------------------------------------- LeakSanitizer

PK_PLANTED void lose_memory() { use(std::malloc(lost_bytes)); }

PK_PLANTED void lose_python_object() { use(PyBytes_FromStringAndSize(nullptr, lost_bytes)); }

PK_PLANTED __attribute__((noinline)) void lose_memory_of_one() { use(std::malloc(lost_bytes)); }

PK_PLANTED void lose_memory_of_threads() {
#pragma omp parallel num_threads(2)
    lose_memory_of_one();
}

// ------------------------------------------------------------------- ThreadSanitizer

PK_PLANTED void race_on_sum() {
    double sum = 0;
#pragma omp parallel num_threads(2)
    sum += omp_get_thread_num();
    result = sum;
}

PK_PLANTED void race_without_barrier() {
    Buffer<double> written(count), read(count);
    const std::int64_t n = count;
#pragma omp parallel num_threads(2)
    {
#pragma omp for nowait
        for (std::int64_t i = 0; i < n; ++i) written[i] = static_cast<double>(i);
#pragma omp for
        for (std::int64_t i = 0; i < n; ++i) read[i] = written[n - 1 - i];
    }
    result = read[0];
}

// -------------------------------------------------------------------------- no defect

PK_PLANTED void sound_memory() {
    static float *kept = allocate();
    Buffer<float> scratch(count);
    for (std::int64_t i = 0; i < count; ++i) scratch[i] = 1;
    read_vector(kept + count);
    read_vector(scratch.data() + count);
}

PK_PLANTED void sound_threads() {
    Buffer<double> written(count), read(count);
    const std::int64_t n = count;
    double total = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for
        for (std::int64_t i = 0; i < n; ++i) written[i] = static_cast<double>(i);
#pragma omp for schedule(dynamic, 4)
        for (std::int64_t i = 0; i < n; ++i) read[i] = written[n - 1 - i];
#pragma omp critical
        total += read[0];
    }
    result = total;
}
