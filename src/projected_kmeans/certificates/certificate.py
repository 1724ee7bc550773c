"""A lower bound, and what it proves about a clustering: the certificate.

States results; `lower_bounds` computes bounds.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from typing import Any

from projected_kmeans import documents
from projected_kmeans.certificates.bound_trace import Trace, find_damage
from projected_kmeans.result_tables import list_facts
from projected_kmeans.results import Labels

# float64 has fewer digits below this number.
SMALLEST_INERTIA = sys.float_info.min

# A clustering whose inertia is at most this many times the minimum counts as optimal.
OPTIMAL_RATIO = 1 + 1e-6


@dataclass(frozen=True)
class LowerBound:
    """A lower bound: no clustering into k clusters has a smaller inertia.

    Attributes
    ----------
    value : float
        The bound.
    method : str
        The method that gave the best bound: "spectral", "neighbour", "tightened", "semidefinite" or
        "sampled"; "none" if no bound was computed and the value is 0.
    certain : bool
        Whether the bound is proven. If not, it holds with probability `confidence`.
    confidence : float
        1.0 if the bound is certain.
    seconds : float
        The time that all bounds took together.
    values : dict
        The bound of each method that was tried.
    skipped : dict
        Maps each bound that was skipped or cut short to the reason: too many rows, no time, or no
        need.
    part_rows : int
        The most rows of a part, if rows were proven in parts; 0 if all were proven at once.
    deal_ratio : float
        What the parts cost: the smallest ratio that any bound of these parts could prove for the
        labels that were given. 1.0 without parts.
    n_rows, n_clusters : int
        The number of rows (with weights above 0) and of clusters that the bound is for.
    better_labels : ndarray of int32 (n,) or None
        A clustering with a smaller inertia than that of the labels that were given, if the proof
        found one.
    trace : tuple of (float, float)
        When the best certain bound rose: seconds since the work began, and the bound. At most 100
        points.
    """

    value: float
    method: str
    certain: bool
    confidence: float
    seconds: float
    values: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    part_rows: int = 0
    deal_ratio: float = 1.0
    n_rows: int = 0
    n_clusters: int = 0
    better_labels: Labels | None = field(default=None, compare=False, repr=False)
    trace: Trace = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, repr=False)
class Certificate:
    """How far a clustering can be from the best one with the same number of clusters.

    Attributes
    ----------
    inertia : float
        F, the inertia of the clustering.
    lower_bound : float
        No clustering into as many clusters has a smaller inertia.
    ratio : float
        The exact inertia is at most this many times the minimum. It is 1.0 if all rows of each
        cluster coincide, and infinity if no bound above 0 was found.
    method, certain, confidence, seconds, skipped, part_rows, deal_ratio, n_rows, n_clusters
        As in `LowerBound`. Certificates of version 0.1.0 have 0 rows and clusters.
    inertia_error : float
        The most that ``inertia`` can differ from the exact inertia, proven. The ratio counts it. It
        is 0 only if all rows of each cluster coincide.
    better_labels : ndarray of int32 (n,) or None
        As in `LowerBound`. It is not stored with a model.
    guarantee : float
        The ratio that was asked for; 0 if none was.
    ended : {"", "met", "time", "no gain"}
        Whether the guarantee is met by a certain bound, and if not, what ended the work: the time
        was over, or nothing gained any more.
    of_any_size : bool
        Whether the clusters of the clustering keep limits of their sizes. The bound is one for
        clusters of any size, and so for clusters within limits, too.
    trace : tuple of (float, float)
        As in `LowerBound`. Two certificates are equal also if only their traces differ.

    Examples
    --------
    >>> proof = Certificate(118.0, 100.0, 1.18, "neighbour", True, 1.0, 0.5, n_clusters=8)
    >>> proof.describe()
    'no clustering into 8 groups can be more than 16 % better; proven (neighbour bound)'
    """

    inertia: float
    lower_bound: float
    ratio: float
    method: str
    certain: bool
    confidence: float
    seconds: float
    skipped: dict[str, str] = field(default_factory=dict)
    inertia_error: float = 0.0
    part_rows: documents.Count = 0
    deal_ratio: float = 1.0
    n_rows: documents.Count = 0
    n_clusters: documents.Count = 0
    better_labels: Labels | None = field(default=None, compare=False, repr=False)
    guarantee: float = 0.0
    ended: str = ""
    of_any_size: bool = False
    trace: Trace = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, value: float, error: float, bound: LowerBound) -> Certificate:
        """Return what a lower bound proves about an inertia.

        The ratio is that of the largest value that the exact inertia can have, rounded up. It is at
        least 1: a smaller quotient only says that the exact inertia is not that large.

        Parameters
        ----------
        value : float
            The inertia.
        error : float
            The most that it can differ from the exact inertia.
        bound : LowerBound
            The bound.

        Raises
        ------
        RuntimeError
            If a certain bound exceeds the inertia and its error. One of the proofs is false then,
            and nothing may be told as proven.
        """
        best, skipped = bound, bound.skipped
        most = math.nextafter(value + error, math.inf) if error > 0 else value
        if bound.value > most and bound.certain:
            raise RuntimeError(
                f"the {bound.method} bound {bound.value!r} exceeds the inertia {value!r} with its "
                f"error {error:.3g}, so that one of them is false; please report this with the data"
            )
        if bound.value > most:
            reason = "the draws were unlucky: the bound exceeds the inertia"
            best, skipped = replace(bound, value=0.0), {**bound.skipped, bound.method: reason}
        if most <= 0:
            ratio = 1.0
        elif best.value <= 0 or math.isinf(most):
            ratio = math.inf
        else:
            ratio = max(1.0, math.nextafter(most / best.value, math.inf))
        how = (best.method, best.certain, best.confidence, best.seconds, skipped)
        return cls(
            value,
            best.value,
            ratio,
            *how,
            inertia_error=error,
            part_rows=best.part_rows,
            deal_ratio=best.deal_ratio,
            n_rows=best.n_rows,
            n_clusters=best.n_clusters,
            better_labels=best.better_labels,
            trace=best.trace,
        )

    @classmethod
    def from_document(cls, document: Any) -> Certificate:
        """Return the certificate that `to_document` wrote; raise a ValueError if it is damaged.

        Examples
        --------
        >>> proof = Certificate(118.0, 100.0, 1.18, "neighbour", True, 1.0, 0.5)
        >>> Certificate.from_document(proof.to_document()) == proof
        True
        """
        if isinstance(document, dict) and document.get("ratio", 0.0) is None:
            document = {**document, "ratio": math.inf}
        if isinstance(document, dict):
            document = {name: field for name, field in document.items() if name != "better_labels"}
        read = documents.from_document(cls, document, "the certificate", "certify again")
        numbers = {name: field for name, field in vars(read).items() if isinstance(field, float)}
        for name, value in numbers.items():
            largest = {"ratio": math.inf, "confidence": 1.0}.get(name, sys.float_info.max)
            if not (1.0 if name in ("ratio", "deal_ratio") else 0.0) <= value <= largest:
                raise ValueError(f"the certificate is damaged ({name} is {value}); certify again")
        damage = find_damage(read.trace, read.lower_bound if read.certain else math.inf)
        if damage is not None:
            raise ValueError(f"the certificate is damaged ({damage}); certify again")
        return read

    def to_document(self) -> dict[str, Any]:
        """Return the certificate and its sentence as JSON holds them.

        JSON has no infinity, so that an infinite ratio becomes None. Better labels are left out.
        """
        ratio = self.ratio if math.isfinite(self.ratio) else None
        document = documents.to_document(replace(self, better_labels=None))
        del document["better_labels"]
        return {**document, "ratio": ratio, "sentence": self.describe()}

    def judge(self, guarantee: float, otherwise: str) -> Certificate:
        """Return the certificate with whether it meets a guarantee.

        Parameters
        ----------
        guarantee : float
            The ratio that was asked for. 1.0 asks for "proven optimal".
        otherwise : {"time", "no gain"}
            What ended the work if it is not met.

        Examples
        --------
        >>> proof = Certificate(103.0, 100.0, 1.03, "neighbour", True, 1.0, 0.5)
        >>> proof.judge(1.05, "time").ended, proof.judge(1.01, "time").ended
        ('met', 'time')
        """
        is_met = self.certain and self.ratio <= max(guarantee, OPTIMAL_RATIO)
        return replace(self, guarantee=guarantee, ended="met" if is_met else otherwise)

    def describe(self) -> str:
        """Return the certificate as a sentence."""
        if not self.ended:
            return self._describe_bound()
        asked = f"the guarantee of {self.guarantee:g}"
        if self.ended == "met":
            return f"{self._describe_bound()}; {asked} is met"
        why = "the time was over" if self.ended == "time" else "nothing gained any more"
        return f"{self._describe_bound()}; {asked} is not met, because {why}"

    def __repr__(self) -> str:
        """Return the certificate in a line."""
        return f"<Certificate: {self.describe()}>"

    def _repr_html_(self) -> str:
        kind = "certain" if self.certain else f"probability {self.confidence:g}"
        return list_facts(
            {
                "certificate": self.describe(),
                "inertia": f"{self.inertia:.6g}",
                "lower bound": f"{self.lower_bound:.6g} ({self.method}, {kind})",
                "ratio": f"{self.ratio:.6g}",
                "seconds": f"{self.seconds:.3g}",
            }
        )

    def _describe_bound(self) -> str:
        if self.inertia <= 0 and self.inertia_error <= 0:
            return "inertia is 0, the best possible"
        if self.inertia < SMALLEST_INERTIA:
            return (
                "the inertia is too small for float64, so nothing is proven about it; "
                "multiply X by a large constant"
            )
        if math.isinf(self.ratio):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.skipped.items())
            nothing = "no bound above 0 was found, so nothing is proven about the inertia"
            return f"{nothing} ({reasons})" if reasons else nothing
        groups = f"{self.n_clusters:,} groups" if self.n_clusters else "as many groups"
        groups += " of any size" if self.of_any_size else ""
        rows = f" for all {self.n_rows:,} rows" if self.n_rows else ""
        how = f"({self.method} bound)"
        if not self.certain:
            chance = f"with a probability of {100 * self.confidence:g} %"
            return f"{chance}, no clustering into {groups} can be {self._gain()} better {how}"
        if self.ratio <= OPTIMAL_RATIO:
            return f"proven optimal{rows}: no clustering into {groups} can be better {how}"
        return f"no clustering into {groups} can be {self._gain()} better; proven{rows} {how}"

    def _gain(self) -> str:
        """Return how much lower an inertia could be, rounded up so that it stays true."""
        if self.ratio <= OPTIMAL_RATIO:
            return "more than a millionth"
        if self.ratio >= 2:
            times = math.ceil(self.ratio * 100) / 100 if self.ratio < 1e12 else self.ratio
            return f"more than {times:g} times"
        percent = 100 * (1 - 1 / self.ratio)
        unit = 10.0 ** (math.floor(math.log10(percent)) - 1)  # of the second digit
        return f"more than {math.ceil(percent / unit) * unit:.2g} %"
