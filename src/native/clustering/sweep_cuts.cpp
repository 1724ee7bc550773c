// Certificates: a sweep of Hildreth's method over pair and triangle cuts.
//
// Cuts are met one after another, because each changes the entries that the next one reads. So the
// kernel runs on one thread.
#include "clustering/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

class Sweep {
  public:
    Sweep(const double *scales, SquareMatrix matrix) : scales_(scales), matrix_(matrix) {}

    void meet_pair(std::int64_t i, std::int64_t j, float &value) const {
        const double own = coefficient(i, i), ij = coefficient(i, j);
        const double slack = own * at(i, i) - ij * upper(i, j);
        const double step = step_of(slack, own * own + ij * ij / 2, value);
        at(i, i) += static_cast<float>(step * own);
        add(i, j, -step * ij / 2);
    }

    void meet_triangle(std::int64_t i, std::int64_t j, std::int64_t l, float &value) const {
        const double own = coefficient(i, i), jl = coefficient(j, l);
        const double ij = coefficient(i, j), il = coefficient(i, l);
        const double slack =
            own * at(i, i) + jl * upper(j, l) - ij * upper(i, j) - il * upper(i, l);
        const double norm = own * own + (jl * jl + ij * ij + il * il) / 2;
        const double step = step_of(slack, norm, value);
        at(i, i) += static_cast<float>(step * own);
        add(j, l, step * jl / 2);
        add(i, j, -step * ij / 2);
        add(i, l, -step * il / 2);
    }

  private:
    double coefficient(std::int64_t a, std::int64_t b) const {
        return scales_ ? scales_[a] * scales_[b] : 1.0;
    }
    float &at(std::int64_t a, std::int64_t b) const { return matrix_.data[a * matrix_.n + b]; }
    float upper(std::int64_t a, std::int64_t b) const { return a < b ? at(a, b) : at(b, a); }
    void add(std::int64_t a, std::int64_t b, double change) const {
        const float both = upper(a, b) + static_cast<float>(change);
        at(a, b) = at(b, a) = both;
    }

    // The step to equality, cut off where `value` would become negative; adds it to `value`.
    static double step_of(double slack, double norm, float &value) {
        const float wanted = value - static_cast<float>(slack / norm);
        const float after = wanted > 0 ? wanted : 0.0F;
        const double step = static_cast<double>(after) - static_cast<double>(value);
        value = after;
        return step;
    }

    const double *scales_;
    SquareMatrix matrix_;
};

}  // namespace

void sweep_cuts(Cuts cuts, const double *scales, SquareMatrix matrix, float *values) {
    const Sweep sweep(scales, matrix);
    for (std::int64_t cut = 0; cut < cuts.n_cuts; ++cut) {
        const std::int32_t *rows = cuts.rows + 3 * cut;
        if (rows[2] < 0)
            sweep.meet_pair(rows[0], rows[1], values[cut]);
        else
            sweep.meet_triangle(rows[0], rows[1], rows[2], values[cut]);
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET
