// Failed allocations as Python sees them: a MemoryError with a sentence.
#include "lanes/out_of_memory.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "bindings/arrays.hpp"

namespace projected_kmeans {
namespace {

constexpr const char *advice =
    "free memory, or use fewer threads, smaller blocks or fewer clusters";

// Holds its sentence in itself, because there is no memory for a string.
class OutOfMemory : public std::bad_alloc {
  public:
    OutOfMemory(std::int64_t count, std::size_t size) {
        // As a double, because the product may be too large for an integer.
        const double bytes = static_cast<double>(count) * static_cast<double>(size);
        if (bytes < 1e6)
            std::snprintf(text_, sizeof text_,
                          "a kernel asked for %.0f bytes of memory and got "
                          "none; %s",
                          bytes, advice);
        else
            std::snprintf(text_, sizeof text_,
                          "a kernel asked for %.1f MB of memory and got "
                          "none; %s",
                          bytes / 1e6, advice);
    }
    const char *what() const noexcept override { return text_; }

  private:
    char text_[160];
};

void translate(const std::exception_ptr &error, void *) {
    try {
        std::rethrow_exception(error);
    } catch (const OutOfMemory &found) {
        PyErr_SetString(PyExc_MemoryError, found.what());
    } catch (const std::bad_alloc &) {
        PyErr_Format(PyExc_MemoryError, "a kernel asked for memory and got none; %s", advice);
    }
}

}  // namespace

void throw_out_of_memory(std::int64_t count, std::size_t size) { throw OutOfMemory(count, size); }

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace projected_kmeans
