"""Which map reduces the rows, to how many dimensions, and why.

Decides from sizes alone, so that the same call does the same on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.projections.direction_sample import wanted_sample_rows
from projected_kmeans.projections.map_protocol import Transformer
from projected_kmeans.projections.named_maps import MAPS
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.projections.spectral import MAX_AUTO_COMPONENTS
from projected_kmeans.projections.target_dimension import RULES, target_dimension

# The eps of the rules for dimensions if the caller names none.
DEFAULT_EPS = 0.3

# "auto" takes signs instead of principal directions if finding those would take more than 2 GiB.
MAX_DIRECTION_BYTES = 2**31

# The name of a map that the caller made.
TRANSFORMER = "transformer"


class MapChoice(NamedTuple):
    """The map of a fit.

    Attributes
    ----------
    name : str or None
        A name in `MAPS`, "transformer" for a map of the caller, None for no projection.
    n_components : int
        t. It is d if nothing is projected, and for a transformer, whose t is not known before.
    reason : str
        Why.
    """

    name: str | None
    n_components: int
    reason: str


def choose_map(settings: Settings, sizes: Sizes) -> MapChoice:
    """Return the map that the caller wants, or the one that "auto" means for rows of this size."""
    name, wanted, d = settings.projection, settings.n_components, sizes.n_columns
    if name is None:
        return MapChoice(None, d, "the caller wants no projection")
    if isinstance(name, Transformer):
        return MapChoice(TRANSFORMER, d, "the caller has a map of their own")
    if name != "auto":
        if isinstance(wanted, str):
            wanted = choose_components(name, sizes.n_clusters, d, settings.eps)
        return MapChoice(name, int(wanted), "the caller wants this map")
    chosen = choose_automatic_map(sizes, settings.eps)
    if isinstance(wanted, str):
        return chosen
    if wanted >= d:
        return MapChoice(None, d, f"n_components={wanted} keeps all columns")
    if chosen.name is None:
        return MapChoice("svd", int(wanted), f"n_components={wanted} is fewer than {d} columns")
    return chosen._replace(n_components=int(wanted))


def choose_automatic_map(sizes: Sizes, eps: float | None) -> MapChoice:
    """Return what projection="auto" means: principal directions, signs or no map.

    Examples
    --------
    >>> choose_automatic_map(Sizes(90_000, 784, 100, 4), None)[:2]
    ('svd', 64)
    >>> choose_automatic_map(Sizes(90_000, 50, 100, 4), None).reason
    '50 columns are too few for a sketch to save work'
    """
    n, d, k = sizes.n_rows, sizes.n_columns, sizes.n_clusters
    name = "svd" if _directions_fit(sizes) else "sign"
    t = choose_components(name, k, d, eps)
    if eps is not None and t == d:
        source = RULES[MAPS[name].dimension_rule].source.split(":")[0]
        return MapChoice(None, d, f"eps={eps:g} asks for no fewer than all {d} columns ({source})")
    if 2 * t > d or k == 1:
        return MapChoice(None, d, f"{d} columns are too few for a sketch to save work")
    if name == "sign":
        reason = f"{d} columns are too many for principal directions in little memory"
        return MapChoice(name, t, reason)
    kind = "sparse rows" if sizes.sparse else "rows"
    n_hashed = sizes.count_hashed_columns(t)
    hashed = f", hashed to {n_hashed}" if n_hashed else ""
    reason = (
        f"{t} principal directions keep what clusters of {n} {kind} need of {d} columns{hashed}"
    )
    return MapChoice(name, t, reason)


def choose_components(name: str, n_clusters: int, n_features: int, eps: float | None) -> int:
    """Return what n_components="auto" means for a map.

    If eps is named, that is what the theorem of the map asks for. Otherwise it is the same rule at
    eps = 0.3, and at most 64 for principal directions, which has proven enough.
    """
    t = target_dimension(
        n_clusters,
        eps=DEFAULT_EPS if eps is None else eps,
        rule=MAPS[name].dimension_rule,
        n_features=n_features,
    )
    return min(t, MAX_AUTO_COMPONENTS) if eps is None and name == "svd" else t


def _directions_fit(sizes: Sizes) -> bool:
    """Return whether finding the maximum number of directions takes at most 2 GiB.

    Counted are two copies of the sampled rows, and three matrices as wide as the sign sketch. If
    there are fewer than twice as many rows as the sample wants, the map reads all of them, and the
    count of their bytes is too low by a factor of at most 2. Of dense rows that are hashed, only
    the hashed rows are in memory.
    """
    n_sampled = min(sizes.n_rows, wanted_sample_rows(MAX_AUTO_COMPONENTS))
    n_hashed = sizes.count_hashed_columns(MAX_AUTO_COMPONENTS)
    n_columns = n_hashed or sizes.n_columns
    row_bytes = sizes.data_bytes / sizes.n_rows
    if n_hashed and not sizes.sparse:
        row_bytes = n_hashed * sizes.sketch_itemsize
    matrices = 3 * 8 * sketch_width(MAX_AUTO_COMPONENTS, n_columns) * n_columns
    return 2 * n_sampled * row_bytes + matrices <= MAX_DIRECTION_BYTES
