// Files that are mapped into memory, watched for pages that vanish.
//
// A page of a mapped file vanishes if another process shortens the file, or if the disk fails.
// Reading it then raises SIGBUS, which ends the process. For files that are watched, the handler
// here puts zeros in place of the page and of all that follow, and notes that the mapping was cut.
// Python asks `mapping_was_cut` before it returns anything that was computed from the file.
//
// The handler may run in any thread, at any instruction. It reads a list that only grows, through
// atomics, and makes no call but mmap. Python's lock guards all other functions.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "bindings/arrays.hpp"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#define PK_HAS_SIGBUS
#endif

namespace projected_kmeans {
namespace {

// One mapping. The slot of a mapping that ended is used again, with a new number.
struct Slot {
    std::atomic<std::uint64_t> version{0};  // odd while the range changes
    std::atomic<std::uintptr_t> begin{0}, end{0};
    std::atomic<bool> cut{false};
    std::int64_t number = 0;  // read with Python's lock only; 0 if the slot is free
    Slot *next = nullptr;     // never changes after the slot is in the list

    void set_range(std::uintptr_t new_begin, std::uintptr_t new_end) {
        version.fetch_add(1);
        begin.store(new_begin);
        end.store(new_end);
        version.fetch_add(1);
    }
    // The end of the mapping if it holds an address, else 0. A slot that changes meanwhile holds
    // none, because a mapping that is being read does not begin or end.
    std::uintptr_t end_if_holding(std::uintptr_t address) const {
        const std::uint64_t before = version.load();
        const std::uintptr_t from = begin.load(), to = end.load();
        if (before % 2 != 0 || version.load() != before) return 0;
        return from <= address && address < to ? to : 0;
    }
};

std::atomic<Slot *> first_slot{nullptr};
std::atomic<std::int64_t> n_faults{0};
std::int64_t last_number = 0;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<Slot *>::is_always_lock_free);

template <class Action> void for_each_slot(Action action) {
    for (Slot *slot = first_slot.load(); slot; slot = slot->next) action(*slot);
}

#if defined(PK_HAS_SIGBUS)
struct sigaction previous;
std::uintptr_t page_size = 4096;

// Replaces the mapping from the page of an address on by zeros; returns false if the address lies
// in no watched mapping, or if the system refuses.
bool replace_from(std::uintptr_t address) {
    const std::uintptr_t page = address & ~(page_size - 1);
    bool done = false;
    for_each_slot([&](Slot &slot) {
        const std::uintptr_t end = slot.end_if_holding(address);
        if (end == 0) return;
        slot.cut.store(true);
        done = mmap(reinterpret_cast<void *>(page), end - page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    });
    return done;
}

void on_bus_error(int signal, siginfo_t *info, void *context) {
    const int kept = errno;
    const bool is_fault = info->si_code > 0;  // else another process sent the signal
    if (is_fault && replace_from(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
        n_faults.fetch_add(1);
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    } else if (is_fault || previous.sa_handler == SIG_DFL) {
        // The default action ends the process: when the instruction runs again, or at this call.
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
        if (!is_fault) raise(signal);
    }
    errno = kept;
}

// Installs the handler, again if another one was installed over it, such as that of faulthandler.
void install_handler() {
    struct sigaction current;
    sigaction(SIGBUS, nullptr, &current);
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_bus_error) return;
    page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    previous = current;
    struct sigaction ours = {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, nullptr);
}
#else
void install_handler() {}
#endif

Slot &free_slot() {
    Slot *found = nullptr;
    for_each_slot([&](Slot &slot) {
        if (slot.number == 0) found = &slot;
    });
    if (found) return *found;
    found = new Slot;  // stays until the process ends, because the handler may be reading it
    found->next = first_slot.load();
    first_slot.store(found);
    return *found;
}

Slot *slot_of(std::int64_t number) {
    Slot *found = nullptr;
    for_each_slot([&](Slot &slot) {
        if (number != 0 && slot.number == number) found = &slot;
    });
    return found;
}

std::int64_t watch_mapping(std::uintptr_t address, std::uintptr_t n_bytes) {
    require(address != 0 && n_bytes <= UINTPTR_MAX - address, "a mapping lies in memory");
    install_handler();
    Slot &slot = free_slot();
    slot.number = ++last_number;
    slot.cut.store(false);
    slot.set_range(address, address + n_bytes);
    return slot.number;
}

// Ends the watch; returns whether the mapping was cut.
bool forget_mapping(std::int64_t number) {
    Slot *slot = slot_of(number);
    if (!slot) return false;
    slot->set_range(0, 0);
    slot->number = 0;
    return slot->cut.load();
}

std::int64_t mapping_at(std::uintptr_t address) {
    std::int64_t number = 0;
    for_each_slot([&](Slot &slot) {
        if (slot.end_if_holding(address) != 0) number = slot.number;
    });
    return number;
}

bool mapping_was_cut(std::int64_t number) {
    if (n_faults.load() == 0) return false;
    const Slot *slot = slot_of(number);
    return slot && slot->cut.load();
}

}  // namespace

void bind_mapped_files(nb::module_ &m) {
    m.def("watch_mapping", &watch_mapping, nb::arg("address"), nb::arg("n_bytes"));
    m.def("forget_mapping", &forget_mapping, nb::arg("number"));
    m.def("mapping_at", &mapping_at, nb::arg("address"));
    m.def("mapping_was_cut", &mapping_was_cut, nb::arg("number"));
}

}  // namespace projected_kmeans
