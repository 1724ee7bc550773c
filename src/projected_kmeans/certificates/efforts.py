"""How much work each method of proof may do, as limits on rows and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from projected_kmeans.certificates.spectral_bound import SPECTRAL_LIMIT
from projected_kmeans.certificates.tightened_bound import TIGHTEN_LIMIT

# More subsets make the sampled bound vary less from key to key; larger subsets make it higher. Four
# subsets are a compromise.
N_SUBSETS = 4

# The most rows of the neighbour bound if they have weights. Lists of neighbours are then complete,
# so that memory limits the number of rows earlier.
MAX_WEIGHTED_ROWS = 8192


@dataclass(frozen=True)
class Effort:
    """How much work a method may do.

    Attributes
    ----------
    subset_rows : int
        Rows in each of the `N_SUBSETS` random subsets that are used if there are too many rows; 0
        never draws subsets.
    use_spectral : bool
        Whether the spectral bound is computed.
    max_neighbour_rows, max_tightened_rows : int
        The most rows for which the neighbour bound and the tightened bound are computed; 0 never
        computes them.
    max_tightening_steps : int
        The most steps of the tightened bound.
    semidefinite : {"quick", "long"} or None
        Whether the semidefinite bound is computed for some seconds, or until gains end; None never
        computes it.
    """

    subset_rows: int
    use_spectral: bool = True
    max_neighbour_rows: int = 0
    max_tightened_rows: int = 0
    max_tightening_steps: int = 0
    semidefinite: Literal["quick", "long"] | None = None

    def count_neighbour_rows(self, *, is_weighted: bool) -> int:
        """Return the most rows for which the neighbour bound is computed."""
        limit = self.max_neighbour_rows
        return min(limit, MAX_WEIGHTED_ROWS) if is_weighted else limit


EFFORTS = {
    "auto": Effort(
        subset_rows=2048,
        max_neighbour_rows=8192,
        max_tightened_rows=1024,
        max_tightening_steps=60,
        semidefinite="quick",
    ),
    "spectral": Effort(subset_rows=SPECTRAL_LIMIT),
    "neighbour": Effort(subset_rows=4096, use_spectral=False, max_neighbour_rows=16384),
    "semidefinite": Effort(subset_rows=0, use_spectral=False, semidefinite="long"),
    "full": Effort(
        subset_rows=4096,
        max_neighbour_rows=16384,
        max_tightened_rows=TIGHTEN_LIMIT,
        max_tightening_steps=300,
        semidefinite="long",
    ),
}
