// Scratch memory of kernels. It is allocated before a parallel region begins, because an exception
// (such as "out of memory") that leaves a parallel region ends the process.
#pragma once

#include <omp.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>

#ifdef PK_SANITIZE_ADDRESS
#include <sanitizer/asan_interface.h>
#endif

#include "lanes/buffer_checks.hpp"
#include "lanes/instruction_set.hpp"
#include "lanes/out_of_memory.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Memory for `size` values, not initialised, beginning at a cache line.
//
// `apart` bytes behind them belong to nobody. A processor that reads along a buffer fetches what
// lies behind its end, too. Without the gap that is the buffer of another thread, which then waits
// until it may write there again: signs with two threads took 1.5 times as long (AMD, Zen 4).
//
// The gap would hide a kernel that writes past the end. So tests let all of the memory be filled
// with a byte (buffer_checks.hpp), and AddressSanitizer reports every use of the gap.
template <class C> class Buffer {
  public:
    explicit Buffer(std::int64_t size)
        : data_(allocate(size)), aligned_(align(data_)), end_(aligned_ + size) {
#ifdef PK_SANITIZE_ADDRESS
        __asan_poison_memory_region(data_, bytes(aligned_) - data_);
        __asan_poison_memory_region(end_, last() - bytes(end_));
#else
        if (const int byte = fill_byte(); byte >= 0) std::memset(data_, byte, last() - data_);
#endif
    }
    ~Buffer() {
#ifndef PK_SANITIZE_ADDRESS
        if (const int byte = fill_byte(); byte >= 0) {
            require_filled(data_, bytes(aligned_), byte);
            require_filled(bytes(end_), last(), byte);
        }
#endif
        std::free(data_);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    C *data() { return aligned_; }
    const C *data() const { return aligned_; }
    C &operator[](std::int64_t index) { return aligned_[index]; }
    const C &operator[](std::int64_t index) const { return aligned_[index]; }

  private:
    static constexpr std::int64_t line = 64, apart = 8192;

    static char *allocate(std::int64_t size) {
        constexpr std::int64_t most =
            (INT64_MAX - line - apart) / static_cast<std::int64_t>(sizeof(C));
        void *data = nullptr;
        if (size >= 0 && size <= most)
            data = std::malloc(static_cast<std::size_t>(size) * sizeof(C) + line + apart);
        if (!data) throw_out_of_memory(size, sizeof(C));
        return static_cast<char *>(data);
    }
    static C *align(char *data) {
        const auto address = reinterpret_cast<std::uintptr_t>(data);
        return reinterpret_cast<C *>((address + line - 1) / line * line);
    }
    static char *bytes(C *values) { return reinterpret_cast<char *>(values); }
    // The end of all that is allocated.
    char *last() const { return data_ + (bytes(end_) - bytes(aligned_)) + line + apart; }

    char *data_;
    C *aligned_, *end_;
};

// One T for each thread of a parallel region. Make it before the region; inside, `own` is the one
// of the calling thread.
template <class T> class PerThread {
  public:
    template <class... Arguments> explicit PerThread(int n_threads, const Arguments &...arguments) {
        for (int i = 0; i < n_threads; ++i) all_.emplace_back(arguments...);
    }
    T &own() { return all_[static_cast<std::size_t>(omp_get_thread_num())].value; }

  private:
    // In two cache lines of its own, because processors fetch lines in pairs.
    struct alignas(128) Slot {
        T value;
        template <class... Arguments>
        explicit Slot(const Arguments &...arguments) : value(arguments...) {}
    };
    std::deque<Slot> all_;  // not a vector, because buffers cannot be moved
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET
