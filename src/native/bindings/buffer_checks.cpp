// Finds writes beside the values of a buffer, and shows the use of values that nobody wrote.
#include "lanes/buffer_checks.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace projected_kmeans {
namespace {

int read_fill_byte() {
    const char *text = std::getenv("PROJECTED_KMEANS_FILL_BUFFERS");
    if (!text || *text == '\0') return -1;
    char *end = nullptr;
    const long byte = std::strtol(text, &end, 10);
    if (*end != '\0' || byte < 0 || byte > 255)
        throw std::runtime_error(std::string("PROJECTED_KMEANS_FILL_BUFFERS=") + text +
                                 " is not a byte; use 0 to 255, or unset it");
    return static_cast<int>(byte);
}

}  // namespace

int fill_byte() {
    static const int byte = read_fill_byte();
    return byte;
}

void require_filled(const char *begin, const char *end, int byte) noexcept {
    for (const char *at = begin; at < end; ++at) {
        if (static_cast<unsigned char>(*at) == byte) continue;
        std::fprintf(stderr,
                     "projected_kmeans: a kernel wrote beside the values of a buffer, at byte %lld "
                     "of %lld that belong to nobody; this is a defect\n",
                     static_cast<long long>(at - begin), static_cast<long long>(end - begin));
        std::abort();  // other memory may be damaged, too
    }
}

}  // namespace projected_kmeans
