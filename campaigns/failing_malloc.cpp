// Loaded before all other libraries (LD_PRELOAD): malloc and operator new that fail when they are
// told to. Only calls from libraries whose names were given count; all others get their memory.
// For glibc.
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
}

namespace {

struct Range {
    const char *begin, *end;
};
constexpr int most = 64;
Range ranges[most];
int n_ranges = 0;

std::atomic<bool> armed = false, lasting = false;
std::atomic<long> left = 0, counted = 0;
std::atomic<std::size_t> least = 0;

int note_library(dl_phdr_info *info, std::size_t, void *data) {
    for (auto name = static_cast<const char *const *>(data); *name; ++name) {
        if (!info->dlpi_name || !std::strstr(info->dlpi_name, *name)) continue;
        for (int i = 0; i < info->dlpi_phnum && n_ranges < most; ++i) {
            const auto &part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
            const char *begin = reinterpret_cast<const char *>(info->dlpi_addr + part.p_vaddr);
            ranges[n_ranges++] = {begin, begin + part.p_memsz};
        }
    }
    return 0;
}

bool refuses(const void *address, std::size_t size) {
    if (!armed.load(std::memory_order_relaxed) || size < least) return false;
    const auto *caller = static_cast<const char *>(address);
    bool found = false;
    for (int i = 0; i < n_ranges; ++i) found |= caller >= ranges[i].begin && caller < ranges[i].end;
    if (!found) return false;
    ++counted;
    const long before = left--;
    const bool fails = before == 1 || (before < 1 && lasting);
    if (fails) errno = ENOMEM;
    return fails;
}

}  // namespace

extern "C" {

// Tells which libraries count, by parts of their names; the last is a null pointer. Returns how
// many parts of memory they have.
int watch_libraries(const char *const *names) {
    armed = false;
    n_ranges = 0;
    dl_iterate_phdr(note_library, const_cast<char **>(names));
    return n_ranges;
}

// Begins to count calls for at least so many bytes; the n-th fails, and so do all after it if
// `all_after`.
void begin_failing(long n, int all_after, std::size_t least_bytes) {
    least = least_bytes;
    left = n;
    counted = 0;
    lasting = all_after != 0;
    armed = true;
}

// Ends it; returns how many calls were counted.
long end_failing() {
    armed = false;
    return counted;
}

void *malloc(std::size_t size) noexcept {
    return refuses(__builtin_return_address(0), size) ? nullptr : __libc_malloc(size);
}
void *calloc(std::size_t n, std::size_t size) noexcept {
    return refuses(__builtin_return_address(0), n * size) ? nullptr : __libc_calloc(n, size);
}
void *realloc(void *old, std::size_t size) noexcept {
    return refuses(__builtin_return_address(0), size) ? nullptr : __libc_realloc(old, size);
}

}  // extern "C"

void *operator new(std::size_t size) {
    void *memory = refuses(__builtin_return_address(0), size) ? nullptr : __libc_malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}
