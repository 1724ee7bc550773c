"""What a report of a fit shows, as frozen values that JSON can hold.

Holds facts and no wording: how they came about is `report.py`'s business, how they look the page's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DataFacts:
    """What the rows were called, how many there are, and of which type."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class CertificateFacts:
    """What was proven of the inertia; no ratio where nothing was."""

    sentence: str
    ratio: float | None
    certain: bool
    confidence: float
    lower_bound: float
    method: str


@dataclass(frozen=True)
class ResultFacts:
    """The outcome of a fit, as ``result.json`` tells it."""

    inertia: float
    normalized_inertia: float
    projection: str | None
    n_components: int
    n_iter: int
    stopped: str
    cluster_sizes: tuple[int, ...]
    accuracy: float | None = None
    certificate: CertificateFacts | None = None


@dataclass(frozen=True)
class PlanFacts:
    """What the planner foresaw; seconds of each step where they were kept."""

    reason: str
    seconds: float
    megabytes: float
    steps: dict[str, float] | None = None


@dataclass(frozen=True)
class BaselineFacts:
    """Another system's run on the same rows, which the report compares with."""

    name: str
    n_components: int
    seconds: dict[str, float]
    normalized_inertia: float
    accuracy: float


@dataclass(frozen=True)
class FitFacts:
    """All that ``result.json`` tells of a fit and a report needs."""

    package_version: str
    versions: dict[str, str]
    machine: dict[str, Any]
    data: DataFacts
    parameters: dict[str, Any]
    key: int
    results: ResultFacts
    seconds: dict[str, float]
    plan: PlanFacts
    unserialised: dict[str, str] = field(default_factory=dict)
    original: BaselineFacts | None = None


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster: its rows, and how tightly they lie about its center.

    Attributes
    ----------
    cluster, rows : int
        Its label, and how many rows have it.
    inertia : float or None
        The (weighted) sum of squared distances of its rows to its center.
    spread, farthest : float or None
        The root of the mean and of the largest of these squares.
    name, picture : str or None
        What it is called, and its center as a PNG in base64.
    """

    cluster: int
    rows: int
    inertia: float | None = None
    spread: float | None = None
    farthest: float | None = None
    name: str | None = None
    picture: str | None = None


@dataclass(frozen=True)
class Member:
    """A row of a cluster: its index, its distance to the center, and how it looks."""

    row: int
    distance: float
    picture: str | None = None
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class ColumnFacts:
    """A column in which a center stands out: its value there, and the mean over all rows."""

    name: str
    value: float
    mean: float


@dataclass(frozen=True)
class ClusterMembers:
    """The rows nearest to a center and those farthest from it, nearest and farthest first."""

    cluster: int
    typical: tuple[Member, ...]
    outlying: tuple[Member, ...]
    columns: tuple[ColumnFacts, ...] = ()


@dataclass(frozen=True)
class RowMap:
    """Rows drawn uniformly, along the two directions of most variance of their sketch.

    Attributes
    ----------
    rows, clusters : tuple of int
        Their indices and labels.
    x, y : tuple of float
        Where they lie.
    center_x, center_y : tuple of float
        Where the centers lie, of all clusters in their order.
    kept : float
        The share of the sketch's variance that the two directions show.
    """

    rows: tuple[int, ...]
    clusters: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    center_x: tuple[float, ...]
    center_y: tuple[float, ...]
    kept: float

    def __post_init__(self) -> None:
        lengths = {len(self.rows), len(self.clusters), len(self.x), len(self.y)}
        if len(lengths) > 1 or len(self.center_x) != len(self.center_y):
            raise ValueError("the map has columns of different lengths; fit again")


@dataclass(frozen=True)
class PassLine:
    """The passes of one restart: their numbers, and the inertia a row after each.

    ``rows`` tells over how many rows they went: a sample of them in a subsample.
    """

    restart: int
    rows: int
    passes: tuple[int, ...]
    inertia: tuple[float, ...]
    won: bool

    def __post_init__(self) -> None:
        if len(self.passes) != len(self.inertia):
            raise ValueError("a restart has an inertia too few or too many; fit again")


@dataclass(frozen=True)
class DimensionCurve:
    """What fewer dimensions of the same sketch would have cost, on a sample of the rows.

    Attributes
    ----------
    dimensions : tuple of int
        How many of the sketch's dimensions choose the center of a row.
    ratios : tuple of float
        The sample's squared distances to the centers chosen so, over those of the fit's own labels.
    sample_rows : int
        How many rows were asked.
    """

    dimensions: tuple[int, ...]
    ratios: tuple[float, ...]
    sample_rows: int

    def __post_init__(self) -> None:
        if len(self.dimensions) != len(self.ratios):
            raise ValueError("the curve has a ratio too few or too many; fit again")


@dataclass(frozen=True)
class Report:
    """A fit as its report shows it; parts that need the rows are missing where there were none.

    Attributes
    ----------
    facts : FitFacts
        Sizes, scores, seconds, plan, versions.
    clusters : tuple of ClusterFacts
        In the order of their labels.
    members : tuple of ClusterMembers
        Of the largest clusters, largest first.
    row_map : RowMap or None
        Where rows lie.
    passes : tuple of PassLine
        The way down on the sketch.
    original_inertia : tuple of float
        Inertia in the original space: after lifting, then after each polish pass.
    curve : DimensionCurve or None
        What fewer dimensions would have cost.
    image_shape : tuple of int or None
        Height and width of rows that are pictures, and 3 where they have colours.
    command, fingerprint : str or None
        What was typed, and what tells these rows from others.
    """

    facts: FitFacts
    clusters: tuple[ClusterFacts, ...]
    members: tuple[ClusterMembers, ...] = ()
    row_map: RowMap | None = None
    passes: tuple[PassLine, ...] = ()
    original_inertia: tuple[float, ...] = ()
    curve: DimensionCurve | None = None
    image_shape: tuple[int, ...] | None = None
    command: str | None = None
    fingerprint: str | None = None
