"""What the view of an experiment consists of: a title, an introduction, tables, sentences, charts.

A view is a value with functions of a stored document; it reads and writes no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from projected_kmeans.paper.views.charts import Chart
from projected_kmeans.paper.views.tables import Table

Document = Mapping[str, Any]


@dataclass(frozen=True)
class View:
    """How one experiment is shown.

    Attributes
    ----------
    name : str
        The experiment's name.
    title : str
        The heading of its section.
    opening : str
        A few sentences on what was measured.
    tabulate : callable
        From the document to its tables.
    conclude : callable
        From the document to closing sentences, of which the last one is the result in short.
    chart : callable
        From the document to its charts.
    """

    name: str
    title: str
    opening: str
    tabulate: Callable[[Document], list[Table]]
    conclude: Callable[[Document], list[str]]
    chart: Callable[[Document], list[Chart]]
