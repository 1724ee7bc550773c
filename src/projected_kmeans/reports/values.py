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
    """The certificate of a fit, field by field as in `Certificate`."""

    sentence: str
    ratio: Annotated[float, Meta(ge=1, le=sys.float_info.max)] | None  # None: nothing was proven
    certain: bool
    confidence: Share
    lower_bound: NotNegative
    method: str
    # Results of earlier versions lack these.
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
    """One cluster; what needs the rows of the fit is None without them. Sums are weighted."""

    cluster: Count  # its label
    rows: Count
    share: Share | None = None  # of the weight of all rows that are in a cluster
    inertia: NotNegative | None = None  # the sum of squared distances of its rows to its center
    spread: NotNegative | None = None  # the root of the mean squared distance
    farthest: NotNegative | None = None  # the largest distance
    name: str | None = None
    picture: str | None = None  # its center as a PNG in base64
    summary: str | None = None  # the columns or terms in which it stands out, as words
    representative: Count | None = None  # the row nearest to its center
    representative_name: str | None = None
    silhouette: Annotated[float, Meta(ge=-1, le=1)] | None = None  # mean of its sampled rows
    nearest: Count | None = None  # the cluster whose center is nearest to its center
    majority: str | None = None  # the most frequent true label
    purity: Share | None = None  # the share of its rows that have this label


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
    """Randomly drawn rows, along the two directions in which their sketch varies most."""

    rows: tuple[Count, ...]
    clusters: tuple[Count, ...]
    x: tuple[Finite, ...]
    y: tuple[Finite, ...]
    center_x: tuple[Finite, ...]  # of the means of all clusters, in the order of their labels
    center_y: tuple[Finite, ...]
    kept: Share  # of the sketch's variance, along the two directions
    names: tuple[str, ...] = ()  # of the rows; empty if they have none

    def __post_init__(self) -> None:
        lengths = {len(self.rows), len(self.clusters), len(self.x), len(self.y)}
        lengths |= {len(self.names)} if self.names else set()
        if len(lengths) > 1 or len(self.center_x) != len(self.center_y):
            raise ValueError("the columns of the map have different lengths")


@dataclass(frozen=True)
class PassLine:
    """The passes of one start, or of the search that went on with it at a later level."""

    restart: Count  # the number of the start, from 0
    rows: Size  # of each pass: all rows, or those of a subsample
    passes: tuple[Count, ...]  # numbers from 1
    inertia: tuple[NotNegative, ...]  # on the sketch after each pass, divided by ``rows``
    won: bool  # whether the fit kept this run

    def __post_init__(self) -> None:
        if len(self.passes) != len(self.inertia):
            raise ValueError("a restart has not one inertia for each pass")


@dataclass(frozen=True)
class DimensionCurve:
    """What fewer dimensions of the same sketch would have cost, measured on a sample of the rows.

    The first t dimensions of the sketch choose each row's center. A ratio is the sum of squared
    distances to these centers, in the original columns, divided by that for the labels of the fit.
    """

    dimensions: tuple[Size, ...]
    ratios: tuple[NotNegative, ...]
    sample_rows: Size

    def __post_init__(self) -> None:
        if len(self.dimensions) != len(self.ratios):
            raise ValueError("the curve has not one ratio for each dimension")


@dataclass(frozen=True)
class Report:
    """All that the report of a fit shows. Parts that need the rows are empty without them."""

    facts: FitFacts
    clusters: tuple[ClusterFacts, ...]  # in the order of their labels
    members: tuple[ClusterMembers, ...] = ()  # of the largest clusters, in the order of labels
    row_map: RowMap | None = None
    passes: tuple[PassLine, ...] = ()  # on the sketch
    original_inertia: tuple[NotNegative, ...] = ()  # after lifting, then after each polish pass
    curve: DimensionCurve | None = None  # None without a sketch
    image_shape: tuple[Size, ...] | None = None  # of rows that are pictures
    command: str | None = None  # that made the fit
    fingerprint: str | None = None  # a text that differs for different rows
    silhouette: SilhouetteFacts | None = None
