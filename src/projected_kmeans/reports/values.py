"""What a report of a fit shows, as frozen values that JSON can hold.

Holds facts and no wording: `build` finds the facts, `sentences` and `page` word and show them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from projected_kmeans.certificates.bound_trace import Trace, find_damage
from projected_kmeans.documents import (
    Count,
    Finite,
    Key,
    NotNegative,
    ParameterName,
    Seconds,
    Share,
    Size,
)


@dataclass(frozen=True)
class DataFacts:
    """The name, shape and element type of the rows."""

    name: str
    shape: tuple[Size, Size]
    dtype: str


@dataclass(frozen=True)
class CertificateFacts:
    """The certificate of a fit; the ratio is None if nothing was proven.

    Attributes
    ----------
    sentence, ratio, certain, confidence, lower_bound, method, seconds, part_rows, deal_ratio, trace
        As in `Certificate`. Results of earlier versions lack the last four.
    """

    sentence: str
    ratio: Annotated[float, Meta(ge=1, le=sys.float_info.max)] | None
    certain: bool
    confidence: Share
    lower_bound: NotNegative
    method: str
    seconds: Seconds = 0.0
    part_rows: Count = 0
    deal_ratio: Annotated[float, Meta(ge=1, le=sys.float_info.max)] = 1.0
    trace: Trace = ()

    def __post_init__(self) -> None:
        damage = find_damage(self.trace, self.lower_bound if self.certain else math.inf)
        if damage is not None:
            raise ValueError(damage)


@dataclass(frozen=True)
class ResultFacts:
    """The results of a fit, as ``result.json`` holds them."""

    inertia: NotNegative
    normalized_inertia: NotNegative
    projection: str | None
    n_components: Size
    n_iter: Count
    stopped: str
    cluster_sizes: Annotated[tuple[Count, ...], Meta(min_length=1)]
    accuracy: Share | None = None
    certificate: CertificateFacts | None = None
    set_aside: Count = 0
    explained_variance_ratio: Share | None = None
    mean_cosine: Annotated[float, Meta(ge=-1, le=1)] | None = None


@dataclass(frozen=True)
class PlanFacts:
    """The plan of a fit: why in so many dimensions, and memory beyond the rows."""

    reason: str
    megabytes: NotNegative


@dataclass(frozen=True)
class BaselineFacts:
    """A run of another program on the same rows, for comparison."""

    name: str
    n_components: Size
    seconds: dict[str, Seconds]
    normalized_inertia: NotNegative
    accuracy: Share


@dataclass(frozen=True)
class FitFacts:
    """What a report needs of ``result.json``."""

    package_version: str
    versions: dict[str, str]
    machine: dict[str, Any]
    data: DataFacts
    parameters: dict[ParameterName, Any]
    key: Key
    results: ResultFacts
    seconds: Annotated[dict[str, Seconds], Meta(min_length=1)]
    plan: PlanFacts
    unserialised: dict[ParameterName, str] = field(default_factory=dict)
    original: BaselineFacts | None = None
    fit: str | None = None


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster: its size, and the distances of its rows to its center.

    Attributes
    ----------
    cluster, rows : int
        The label of the cluster, and its number of rows.
    share : float or None
        Its share of the weight of all rows that are in a cluster.
    inertia : float or None
        The (weighted) sum of squared distances of its rows to its center.
    spread : float or None
        The root of the (weighted) mean squared distance.
    farthest : float or None
        The largest distance.
    name, picture : str or None
        The name of the cluster, and its center as a PNG in base64.
    summary : str or None
        The columns or terms in which it stands out, as words.
    representative, representative_name : int or None, str or None
        The row nearest to its center, and the name of that row.
    silhouette : float or None
        The mean silhouette of its sampled rows.
    nearest : int or None
        The cluster whose center is nearest to its center.
    majority, purity : str or None, float or None
        The most frequent true label, and the share of its rows that have it.
    """

    cluster: Count
    rows: Count
    share: Share | None = None
    inertia: NotNegative | None = None
    spread: NotNegative | None = None
    farthest: NotNegative | None = None
    name: str | None = None
    picture: str | None = None
    summary: str | None = None
    representative: Count | None = None
    representative_name: str | None = None
    silhouette: Annotated[float, Meta(ge=-1, le=1)] | None = None
    nearest: Count | None = None
    majority: str | None = None
    purity: Share | None = None


@dataclass(frozen=True)
class SilhouetteFacts:
    """The mean silhouette of sampled rows, in the original columns, and their number."""

    mean: Annotated[float, Meta(ge=-1, le=1)]
    rows: Size


@dataclass(frozen=True)
class Member:
    """A row of a cluster: its index and distance to the center, its picture or values, its name."""

    row: Count
    distance: NotNegative
    picture: str | None = None
    values: tuple[Finite, ...] = ()
    name: str | None = None


@dataclass(frozen=True)
class ColumnFacts:
    """A column in which a center stands out: the center's value, and the mean of all rows."""

    name: str
    value: Finite
    mean: Finite


@dataclass(frozen=True)
class ClusterMembers:
    """The rows nearest to a center, nearest first, and those farthest from it, farthest first."""

    cluster: Count
    typical: tuple[Member, ...]
    outlying: tuple[Member, ...]
    columns: tuple[ColumnFacts, ...] = ()


@dataclass(frozen=True)
class RowMap:
    """Randomly drawn rows, along the two directions in which their sketch varies most.

    Attributes
    ----------
    rows, clusters : tuple of int
        The indices and labels of the rows.
    x, y : tuple of float
        The coordinates of the rows.
    center_x, center_y : tuple of float
        The coordinates of the centers of all clusters, in the order of their labels.
    kept : float
        The share of the sketch's variance that lies along the two directions.
    names : tuple of str
        The names of the rows, such as those of their files; empty if rows have none.
    """

    rows: tuple[Count, ...]
    clusters: tuple[Count, ...]
    x: tuple[Finite, ...]
    y: tuple[Finite, ...]
    center_x: tuple[Finite, ...]
    center_y: tuple[Finite, ...]
    kept: Share
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.rows), len(self.clusters), len(self.x), len(self.y)}
        lengths |= {len(self.names)} if self.names else set()
        if len(lengths) > 1 or len(self.center_x) != len(self.center_y):
            raise ValueError("the columns of the map have different lengths")


@dataclass(frozen=True)
class PassLine:
    """The passes of one restart: their numbers, and the inertia per row after each.

    Attributes
    ----------
    restart : int
        The number of the restart, from 0.
    rows : int
        The number of rows of each pass: all rows, or those of a subsample.
    passes : tuple of int
        The numbers of the passes, from 1.
    inertia : tuple of float
        The inertia on the sketch after each pass, divided by ``rows``.
    won : bool
        Whether the fit kept this run.
    """

    restart: Count
    rows: Size
    passes: tuple[Count, ...]
    inertia: tuple[NotNegative, ...]
    won: bool

    def __post_init__(self) -> None:
        if len(self.passes) != len(self.inertia):
            raise ValueError("a restart has not one inertia for each pass")


@dataclass(frozen=True)
class DimensionCurve:
    """What fewer dimensions of the same sketch would have cost, measured on a sample of the rows.

    Attributes
    ----------
    dimensions : tuple of int
        Numbers t of dimensions. The first t dimensions of the sketch choose each row's center.
    ratios : tuple of float
        The sum of squared distances to these centers, in the original columns, divided by the same
        sum for the labels of the fit.
    sample_rows : int
        The number of rows in the sample.
    """

    dimensions: tuple[Size, ...]
    ratios: tuple[NotNegative, ...]
    sample_rows: Size

    def __post_init__(self) -> None:
        if len(self.dimensions) != len(self.ratios):
            raise ValueError("the curve has not one ratio for each dimension")


@dataclass(frozen=True)
class Report:
    """All that the report of a fit shows. Parts that need the rows are empty without them.

    Attributes
    ----------
    facts : FitFacts
        Sizes, scores, seconds, plan, versions.
    clusters : tuple of ClusterFacts
        In the order of their labels.
    members : tuple of ClusterMembers
        Members of the largest clusters, largest cluster first.
    row_map : RowMap or None
        The map of the rows.
    passes : tuple of PassLine
        The inertia on the sketch after every pass.
    original_inertia : tuple of float
        The inertia in the original space: after lifting, then after each polish pass.
    curve : DimensionCurve or None
        What fewer dimensions would have cost; None without a sketch.
    image_shape : tuple of int or None
        Height and width of rows that are pictures, and 3 if they have colours.
    command : str or None
        The command that made the fit.
    fingerprint : str or None
        A text that differs for different rows.
    silhouette : SilhouetteFacts or None
        How clear the clusters are.
    """

    facts: FitFacts
    clusters: tuple[ClusterFacts, ...]
    members: tuple[ClusterMembers, ...] = ()
    row_map: RowMap | None = None
    passes: tuple[PassLine, ...] = ()
    original_inertia: tuple[NotNegative, ...] = ()
    curve: DimensionCurve | None = None
    image_shape: tuple[Size, ...] | None = None
    command: str | None = None
    fingerprint: str | None = None
    silhouette: SilhouetteFacts | None = None
