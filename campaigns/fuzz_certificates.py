"""Compare certificates of tiny data with the least inertia, computed without rounding.

Rows have all scales, far values, duplicates, offsets and weights, dense and sparse, in float32 and
float64. For each instance the minimum inertia over all partitions is computed in whole numbers. A
certificate must keep: lower bound <= minimum <= inertia + error, inertia - error <= exact inertia
<= inertia + error <= ratio x minimum, an error of at most 1e-12 of the inertia, and "inertia is
0" only for clusters of equal rows. Semidefinite proofs must keep bound <= minimum for random
multipliers and for every iterate of each search.

The same seed gives the same instances. For example:

    python campaigns/fuzz_certificates.py --seconds 60
    python campaigns/fuzz_certificates.py --instances 2000 --kind semidefinite
    python campaigns/fuzz_certificates.py --seed 3 --only 1234     # repeat one instance
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from exact_costs import ExactCosts
from hard_multipliers import draw_multipliers, prove_iterates
from recording import RESULTS, store_campaign

from projected_kmeans import Certificate, ProjectedKMeans, certify, kmeans_lower_bound
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.certificate import SMALLEST_INERTIA
from projected_kmeans.certificates.proof_rows import prepare_rows
from projected_kmeans.certificates.semidefinite.proof import MatrixBound

KINDS = (
    *("certify", "certify", "certify", "weighted bound", "weighted fit", "cosine fit"),
    *("semidefinite", "weighted semidefinite", "cosine semidefinite"),
)

# Random multipliers, and steps of each search, of a semidefinite instance.
N_RANDOM = 4
N_STEPS = 12

# The relative error of an inertia, at most.
PROMISE = Fraction(1, 10**12)


@dataclass(frozen=True)
class Instance:
    """Rows, weights, a partition and what is asked of them."""

    kind: str  # one of `KINDS`
    rows: NDArray[Any]  # (n, d), dense
    sparse: bool  # whether they are given as CSR
    weights: NDArray[np.float64]  # 1 where the kind has none
    labels: NDArray[np.int64]  # a partition

    @property
    def given(self) -> Any:
        """The rows in the form in which they are given."""
        return scipy.sparse.csr_array(self.rows) if self.sparse else self.rows


def draw_instance(seed: int, index: int, kinds: Sequence[str] = KINDS) -> Instance:
    """Return the instance of a number, of one of some kinds."""
    stream = np.random.default_rng([seed, index])
    n, d, k = stream.integers(1, 10), stream.integers(1, 4), stream.integers(1, 5)
    kind = str(stream.choice(kinds))
    dtype = str(stream.choice(["float32", "float64"]))
    limit = 17 if dtype == "float32" else 140
    rows = stream.normal(size=(n, d))
    if stream.random() < 0.4:
        rows = np.round(rows * 2)
    rows *= 10.0 ** stream.choice([0, 0, stream.integers(-limit, limit + 1)])
    rows += np.abs(rows).max() * stream.choice([0, 0, 1e5], size=d)
    far = stream.random((n, d)) < stream.choice([0, 0, 0.1, 0.4])
    rows[far] *= 10.0 ** stream.integers(-20, 20)
    if stream.random() < 0.3:
        rows = rows[stream.integers(n, size=n)]
    rows[stream.random((n, d)) < stream.choice([0, 0.4])] = 0
    rows = np.clip(rows, -(10.0 ** (limit + 1)), 10.0 ** (limit + 1)).astype(dtype)
    weights = np.ones(n)
    if kind.startswith("weighted"):
        weights = np.exp(stream.normal(scale=stream.choice([1, 5]), size=n))
    labels = stream.integers(min(k, n), size=n)
    return Instance(kind, rows, bool(stream.random() < 0.4), weights, labels)


def check_instance(instance: Instance) -> list[str]:
    """Return what is wrong with the certificate of an instance."""
    if instance.kind == "certify":
        exact = ExactCosts(instance.rows, instance.weights)
        found = certify(instance.given, instance.labels, method="full", random_state=0)
        own = exact.of_partition(instance.labels)
        return check_certificate(found, own, exact.minimum(len(np.unique(instance.labels))))
    k = len(np.unique(instance.labels))
    if instance.kind == "weighted bound":
        minimum = ExactCosts(instance.rows, instance.weights).minimum(k)
        bound = kmeans_lower_bound(
            instance.given, k, method="full", sample_weight=instance.weights, random_state=0
        )
        return [] if Fraction(bound.value) <= minimum else [f"bound {bound.value} > {minimum}"]
    if instance.kind.endswith("semidefinite"):
        return _check_semidefinite(instance, k)
    return _check_fit(instance, k)


def _check_semidefinite(instance: Instance, k: int) -> list[str]:
    """Check all bounds that multipliers prove for the rows as one part."""
    rows = instance.rows
    if instance.kind == "cosine semidefinite":
        rows = to_unit_rows(rows)
    minimum = ExactCosts(rows, instance.weights).minimum(k)
    given = scipy.sparse.csr_array(rows) if instance.sparse else rows
    weights = instance.weights if instance.kind.startswith("weighted") else None
    bound = MatrixBound(prepare_rows(given, weights), k)
    seed = int.from_bytes(rows.tobytes()[:4], "little")
    proven = [
        bound.prove(draw_multipliers(seed + i, bound, instance.labels)) for i in range(N_RANDOM)
    ]
    proven += prove_iterates(bound, instance.labels, seed, N_STEPS)
    values = [bound.to_original(one) for one in proven]
    return [f"bound {one} > {minimum}" for one in values if Fraction(one) > minimum]


def _to_unit_length(instance: Instance) -> NDArray[Any]:
    """Return the rows that a fit clusters; lengths of sparse rows are summed in another order."""
    rows = to_unit_rows(instance.given)
    return rows.toarray() if instance.sparse else rows


def _check_fit(instance: Instance, k: int) -> list[str]:
    """Check the certificate of a fit, whose inertia is about its own centers."""
    cosine = instance.kind == "cosine fit"
    rows = _to_unit_length(instance) if cosine else instance.rows
    model = ProjectedKMeans(
        k, certificate="full", metric="cosine" if cosine else "euclidean", random_state=0
    ).fit(instance.given, sample_weight=None if cosine else instance.weights)
    minimum = ExactCosts(rows, instance.weights).minimum(k)
    if not cosine:
        return check_certificate(model.certificate_, None, minimum)
    # Centers of a fit are rounded. About some of other lengths the inertia can be lower, but never
    # below that about means.
    about_units = ExactCosts(rows, instance.weights, about_units=True).minimum(k)
    return check_certificate(model.certificate_, None, minimum, about_units)


def check_certificate(
    found: Certificate,
    exact: Fraction | None,
    minimum: Fraction,
    bounded: Fraction | None = None,
) -> list[str]:
    """Return what a certificate claims and what is not so.

    ``exact`` is the exact inertia of its partition; None if the inertia is about centers that are
    no means. ``minimum`` is the exact minimum, and ``bounded`` the one that the bound is for, if
    that is another.
    """
    wrong, bounded = [], minimum if bounded is None else bounded
    value, error = Fraction(found.inertia), Fraction(found.inertia_error)
    if Fraction(found.lower_bound) > bounded:
        wrong.append(f"lower bound {found.lower_bound} > minimum {float(bounded)}")
    if value + error < minimum:
        wrong.append(f"inertia {found.inertia} + {found.inertia_error} < {float(minimum)}")
    if math.isfinite(found.ratio) and value - error > Fraction(found.ratio) * bounded:
        wrong.append(f"ratio {found.ratio} is too small for {found.inertia} / {float(bounded)}")
    if found.describe() == "inertia is 0, the best possible" and minimum > 0:
        wrong.append(f"an inertia of 0 is told, and the minimum is {float(minimum)}")
    if exact is not None and abs(value - exact) > error:
        wrong.append(f"inertia {found.inertia} is off by more than {found.inertia_error}")
    if exact is not None and exact > SMALLEST_INERTIA and error > PROMISE * exact:
        wrong.append(f"the error {found.inertia_error} of {found.inertia} exceeds 1e-12 of it")
    return wrong


def run_instances(
    seed: int, seconds: float, count: int | None, drawn: Sequence[str] = KINDS
) -> dict[str, Any]:
    """Check instances until the time is over, or so many; return the counts."""
    begun, index = time.monotonic(), 0
    kinds: Counter[str] = Counter()
    proven, failures = 0, []
    while index < count if count is not None else time.monotonic() - begun < seconds:
        instance = draw_instance(seed, index, drawn)
        try:
            wrong = check_instance(instance)
        except Exception as error:  # whatever it is, it breaks a promise
            wrong = [f"{type(error).__name__}: {error}"]
        failures += [f"seed {seed}, instance {index}, {instance.kind}: {one}" for one in wrong]
        kinds[instance.kind] += 1
        proven += not wrong
        index += 1
    return {
        "instances": index,
        "kinds": dict(sorted(kinds.items())),
        "kept": proven,
        "seconds": round(time.monotonic() - begun, 1),
        "failures": failures,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 1 if a certificate broke a promise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--instances", type=int, help="check so many, whatever the time")
    parser.add_argument("--seed", type=int, default=0, help="fixes the instances")
    parser.add_argument("--kind", default="", help="draw only kinds with this word in their name")
    parser.add_argument("--only", type=int, help="repeat the instance of this number")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the result goes")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of fits with fewer distinct rows than clusters
    drawn = [kind for kind in KINDS if given.kind in kind]
    if not drawn:
        parser.error(f"--kind {given.kind} is in none of {', '.join(sorted(set(KINDS)))}")
    if given.only is not None:
        instance = draw_instance(given.seed, given.only, drawn)
        print(instance, check_instance(instance) or "kept")
        return 0
    result = run_instances(given.seed, given.seconds, given.instances, drawn)
    words = " ".join(sys.argv[1:] if arguments is None else arguments)
    command = f"python campaigns/fuzz_certificates.py {words}".strip()
    path = store_campaign("fuzz_certificates", command, result, given.out)
    print(f"{result['kept']} of {result['instances']} instances kept all promises; see {path}")
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
