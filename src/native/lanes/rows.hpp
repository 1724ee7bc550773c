// Rows as kernels take them, and the frame and the centers that go with them.
// The same for every instruction set; holds types only.
#pragma once

#include <cstdint>

// Marks functions outside the namespace of an instruction set. They are inlined at every call, so
// that no copy compiled for one instruction set is linked into the code of another.
#define PK_LOCAL [[gnu::always_inline]] inline

namespace projected_kmeans {

// The element types of a dense block.
enum class Element { float32, float64, float16, uint8, int8, uint16, int16 };

// IEEE half precision as it is stored; lanes/elements.hpp converts it to float.
struct Half {
    std::uint16_t bits;
};

// A dense block of rows: the elements of a row are neighbours in memory, rows may lie apart.
struct Rows {
    const void *data;
    Element element;
    std::int64_t n_rows;
    std::int64_t n_columns;
    std::int64_t stride;  // elements from one row to the next

    template <class T> PK_LOCAL const T *row(std::int64_t index) const {
        return static_cast<const T *>(data) + index * stride;
    }
};

// Rows in compressed sparse row (CSR) form; the column indices ascend inside a row.
template <class C> struct SparseRows {
    const C *values;
    const void *indices;  // the column of every nonzero
    const void *starts;   // n_rows + 1: where a row's nonzeros begin, and the end of the last
    bool wide;            // true if indices and starts are int64, false if they are int32
    std::int64_t n_rows;
    std::int64_t n_columns;

    PK_LOCAL std::int64_t start(std::int64_t row) const {
        return wide ? static_cast<const std::int64_t *>(starts)[row]
                    : static_cast<const std::int32_t *>(starts)[row];
    }
    PK_LOCAL std::int64_t index(std::int64_t nonzero) const {
        return wide ? static_cast<const std::int64_t *>(indices)[nonzero]
                    : static_cast<const std::int32_t *>(indices)[nonzero];
    }
    // Calls `action` with the indices as a pointer of their own type.
    template <class Action> PK_LOCAL void with_indices(Action action) const {
        if (wide)
            action(static_cast<const std::int64_t *>(indices));
        else
            action(static_cast<const std::int32_t *>(indices));
    }
};

// Rows are moved to the coordinates (x - origin) * scale before a kernel computes in type C. A
// large common offset or a very large or small unit then costs no digits.
template <class C> struct Frame {
    const C *origin;  // one value for each column
    C scale;
};

template <class C> struct Centers {
    const C *data;  // n_centers x n_columns, C-contiguous
    std::int64_t n_centers;
};

}  // namespace projected_kmeans
