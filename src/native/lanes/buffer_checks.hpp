// Whether memory beside the values of a buffer is watched. Defined once, in
// bindings/buffer_checks.cpp.
#pragma once

namespace projected_kmeans {

// The environment variable PROJECTED_KMEANS_FILL_BUFFERS: a byte from 0 to 255, or -1 if it is not
// set. Tests set it. Buffers are then filled with the byte before use, and what lies beside their
// values must still hold it when they are freed.
int fill_byte();

// Ends the process with a sentence unless all of [begin, end) holds the byte.
void require_filled(const char *begin, const char *end, int byte) noexcept;

}  // namespace projected_kmeans
