"""Reports as HTML: one page that needs no other file and loads nothing from the network.

Fills the templates; the texts come from `sentences`, the plots from `plots`.
"""

from __future__ import annotations

import json
import math
import os
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.output_files import write_atomically
from projected_kmeans.reports.overview import describe_cards, write_answer
from projected_kmeans.reports.plots import (
    COLOURS,
    MAX_NUMBERED_CENTERS,
    draw_plots,
    load_script,
    mark_of,
)
from projected_kmeans.reports.sentences import (
    DASH,
    describe_origin,
    describe_proof,
    describe_steps,
    min_dimensions,
    write_clusters_note,
    write_curve_note,
    write_map_note,
    write_members_note,
    write_number,
    write_passes_note,
    write_plan_note,
    write_snippet,
    write_theorem_note,
)
from projected_kmeans.reports.values import ClusterFacts, Report

# The most clusters in the table; more would make the file large and the page slow. The others are
# listed as text.
MAX_LISTED_CLUSTERS = 2000

# Up to this number of clusters the table is shown in full; a longer one scrolls.
MAX_FULL_TABLE = 60

# Smaller numbers are shown as 0: they are rounding errors.
SHOWN_AS_ZERO = 1e-12

# The content security policy of the page: it may load nothing but itself.
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)


def render_report(report: Report) -> str:
    """Return the report as one HTML page.

    All texts of the report are escaped, in the page and in the data of its plots.
    """
    clusters, facts = report.clusters, report.facts
    listed = sorted(clusters, key=lambda cluster: (-cluster.rows, cluster.cluster))[
        :MAX_LISTED_CLUSTERS
    ]
    shown = {cluster.cluster for cluster in listed}
    plots = draw_plots(report)
    return render_template(
        "report.html",
        policy=POLICY,
        facts=facts,
        clusters=clusters,
        table=sorted(listed, key=lambda cluster: cluster.cluster),
        others=[cluster for cluster in clusters if cluster.cluster not in shown],
        scrolls=len(listed) > MAX_FULL_TABLE,
        clusters_note=write_clusters_note(report),
        has_silhouettes=report.silhouette is not None,
        has_nearest=any(cluster.nearest is not None for cluster in clusters),
        has_labels=any(cluster.purity is not None for cluster in clusters),
        has_meaning=any(
            cluster.name or cluster.picture or cluster.summary or cluster.representative is not None
            for cluster in clusters
        ),
        share_of=partial(_find_share, sum(cluster.rows for cluster in clusters)),
        total_inertia=sum(cluster.inertia or 0.0 for cluster in clusters),
        members=report.members,
        image_shape=report.image_shape,
        row_map=report.row_map,
        passes=report.passes,
        curve=report.curve,
        curve_text=_read_curve(report),
        numbered=len(clusters) <= MAX_NUMBERED_CENTERS,
        has_guarantee=min_dimensions(len(clusters)) <= facts.data.shape[1],
        answer=write_answer(report),
        cards=describe_cards(report),
        map_note=write_map_note(report),
        members_note=write_members_note(report),
        passes_note=write_passes_note(report),
        curve_note=write_curve_note(report),
        theorem_note=write_theorem_note(report),
        proof=describe_proof(report),
        plan_note=write_plan_note(report),
        steps=describe_steps(facts),
        command=report.command,
        snippet=write_snippet(facts),
        origin=describe_origin(report),
        plots=_escape_json(plots) if plots else None,
        bokeh=_mark_safe(load_script()) if plots else None,
        script=read_script("report.js"),
    )


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page to a file, whole or not at all, and return its path."""
    write_atomically(path, lambda handle: handle.write(page.encode()))
    return Path(path)


def render_template(template: str, **values: Any) -> str:
    """Return one of the templates, filled with values; all texts among them are escaped."""
    css = _mark_safe(_read_template("report.css"))
    page: str = _open_templates().get_template(template).render(css=css, **values)
    return page


def read_script(name: str) -> Any:
    """Return one of our scripts, marked as safe, so that the template does not escape it."""
    return _mark_safe(_read_template(name))


@cache
def _open_templates() -> Any:
    jinja = load_extra("jinja2", "report", "a report")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_read_template),
        autoescape=True,
        undefined=jinja.StrictUndefined,
    )
    environment.filters["compact"] = _compact
    environment.filters["percent"] = lambda share: DASH if share is None else f"{share:.1%}"
    environment.filters["colour"] = lambda label: COLOURS[label % len(COLOURS)]
    environment.filters["shape"] = mark_of
    # A rounded value of -0.004 is 0, without a sign.
    environment.filters["decimals"] = lambda value: f"{round(value, 2) + 0.0:.2f}"
    return environment


def _compact(value: float, digits: int = 4) -> str:
    """Return a number in few digits; rounding errors are shown as 0."""
    return "0" if abs(value) < SHOWN_AS_ZERO else write_number(value, digits)


def _read_template(name: str) -> str:
    return (files("projected_kmeans.reports") / "templates" / name).read_text("utf-8")


def _mark_safe(text: str) -> Any:
    """Mark a text of our own, so that the template does not escape it."""
    return load_extra("markupsafe", "report", "a report").Markup(text)


def _escape_json(document: Any) -> Any:
    """Return JSON that cannot end the script element in which it stands, whatever it contains."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return _mark_safe(text)


def _find_share(n_rows: int, cluster: ClusterFacts) -> float:
    """Return the share of a cluster; without its weight that of the rows that are in a cluster."""
    return cluster.rows / n_rows if cluster.share is None else cluster.share


def _read_curve(report: Report) -> str:
    """Return the curve as words, for screen readers."""
    if report.curve is None:
        return ""
    pairs = zip(report.curve.dimensions, report.curve.ratios, strict=True)
    return ", ".join(f"{ratio:.3g} at {width}" for width, ratio in pairs if math.isfinite(ratio))
