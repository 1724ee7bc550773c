"""The curves of a report, as frozen values that JSON can hold: passes, and dimensions.

`pass_lines` and `rows` find them; `plots` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass

from projected_kmeans.documents import Count, NotNegative, Size


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
