// Certificates: the triangle cuts that a matrix breaks most.
//
// For rows i and j, all l are met by vectors, and only a stretch of l whose maximum exceeds the
// smallest violation that is still kept is looked at one by one.
#include <limits>

#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"
#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

struct Triangle {
    float violation;
    std::int32_t j, l;

    bool comes_after(const Triangle &other) const {
        if (violation != other.violation) return violation < other.violation;
        return j != other.j ? j > other.j : l > other.l;
    }
};

// The best triangles of one row, as a heap whose root is the one that is dropped next.
class Best {
  public:
    explicit Best(std::int64_t most) : kept_(most), most_(most) {}

    void clear(float floor) { n_ = 0, floor_ = floor; }
    std::int64_t size() const { return n_; }

    // A violation must exceed this to be kept.
    float least() const { return n_ < most_ ? floor_ : larger(floor_, kept_[0].violation); }

    void add(Triangle one) {
        if (n_ < most_) {
            std::int64_t place = n_++;
            for (; place > 0 && one.comes_after(kept_[(place - 1) / 2]); place = (place - 1) / 2)
                kept_[place] = kept_[(place - 1) / 2];
            kept_[place] = one;
        } else {
            sink(one, n_);
        }
    }

    // Takes out the root; the last to be taken out is the best.
    Triangle pop() {
        const Triangle root = kept_[0];
        --n_;
        if (n_ > 0) sink(kept_[n_], n_);
        return root;
    }

  private:
    // Puts a triangle in place of the root of a heap of n.
    void sink(Triangle one, std::int64_t n) {
        std::int64_t place = 0;
        for (std::int64_t child = 1; child < n; child = 2 * place + 1) {
            if (child + 1 < n && kept_[child + 1].comes_after(kept_[child])) ++child;
            if (!kept_[child].comes_after(one)) break;
            kept_[place] = kept_[child];
            place = child;
        }
        kept_[place] = one;
    }

    Buffer<Triangle> kept_;
    std::int64_t most_, n_ = 0;
    float floor_ = 0;
};

// Adds the triangles (i, j, l) with l > j, whose violation is base + own[l] - other[l].
void add_triangles(const float *own, const float *other, float base, std::int64_t i, std::int64_t j,
                   std::int64_t n, Best &best) {
    constexpr std::int64_t stretch = 8 * n_lanes<float>;
    for (std::int64_t first = j + 1; first < n; first += stretch) {
        const std::int64_t last = first + stretch < n ? first + stretch : n;
        if (last - first == stretch) {
            Lanes<float> most = load(own + first) - load(other + first);
            for (std::int64_t l = first + n_lanes<float>; l < last; l += n_lanes<float>)
                most = larger(load(own + l) - load(other + l), most);
            float largest = most[0];
            for (int lane = 1; lane < n_lanes<float>; ++lane) largest = larger(most[lane], largest);
            if (!(base + largest > best.least())) continue;
        }
        for (std::int64_t l = first; l < last; ++l) {
            const float violation = base + (own[l] - other[l]);
            if (violation > best.least() && l != i)
                best.add({violation, static_cast<std::int32_t>(j), static_cast<std::int32_t>(l)});
        }
    }
}

}  // namespace

void violated_triangles(ConstSquareMatrix matrix, float floor, std::int64_t most,
                        std::int32_t *others, float *violations, std::int32_t *counts,
                        int n_threads) {
    const std::int64_t n = matrix.n;
    PerThread<Best> all_best(n_threads, most);
    Buffer<float> lowest(n);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
#pragma omp for
        for (std::int64_t row = 0; row < n; ++row) {
            lowest[row] = matrix.data[row * n];
            for (std::int64_t l = 1; l < n; ++l)
                lowest[row] = smaller(matrix.data[row * n + l], lowest[row]);
        }
        Best &best = all_best.own();
#pragma omp for schedule(dynamic, 4)
        for (std::int64_t i = 0; i < n; ++i) {
            const float *own = matrix.data + i * n;
            float highest = own[0];
            for (std::int64_t l = 1; l < n; ++l) highest = larger(own[l], highest);
            best.clear(floor);
            for (std::int64_t j = 0; j < n; ++j) {
                const float base = own[j] - own[i];
                if (j != i && base + (highest - lowest[j]) > best.least())
                    add_triangles(own, matrix.data + j * n, base, i, j, n, best);
            }
            counts[i] = static_cast<std::int32_t>(best.size());
            for (std::int64_t place = best.size() - 1; place >= 0; --place) {
                const Triangle one = best.pop();
                violations[i * most + place] = one.violation;
                others[(i * most + place) * 2] = one.j;
                others[(i * most + place) * 2 + 1] = one.l;
            }
        }
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET
