"""Reports as HTML: one page that needs no other file and asks no server.

Puts numbers into words and words into the template; plots are `report_plots.py`'s business.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.reports.plots import (
    COLOURS,
    NUMBERED_CENTERS,
    draw_plots,
    guarantee,
    load_script,
)
from projected_kmeans.reports.sentences import (
    DASH,
    describe_cards,
    describe_origin,
    describe_steps,
    tell_answer,
    tell_bound,
    tell_curve,
    tell_map,
    tell_members,
    tell_passes_down,
    tell_snippet,
    tell_time,
    write_number,
)
from projected_kmeans.reports.values import Report

# Rows of the table of clusters; more would make the file large and the page slow.
MOST_LISTED = 2000

# Smaller numbers are what rounding leaves of zero.
NOTHING = 1e-12

# What the page may load: nothing but itself.
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)


def render_report(report: Report) -> str:
    """Return the report as one HTML page.

    Parameters
    ----------
    report : Report
        What to show. All its texts are escaped, in the page and in its data.
    """
    listed = sorted(report.clusters, key=lambda one: (-one.rows, one.cluster))[:MOST_LISTED]
    plots = draw_plots(report)
    curve = report.curve
    total = sum(one.inertia or 0.0 for one in report.clusters)
    cut = len(report.clusters) > len(listed)
    return render_template(
        "report.html",
        policy=POLICY,
        facts=report.facts,
        clusters=report.clusters,
        table=sorted(listed, key=lambda one: one.cluster),
        table_note=f"The {len(listed):,} largest are listed." if cut else "",
        n_rows=report.facts.data.shape[0],
        total_inertia=total,
        has_names=any(one.name for one in report.clusters),
        pictured=any(one.picture for one in report.clusters),
        members=report.members,
        image_shape=report.image_shape,
        row_map=report.row_map,
        passes=report.passes,
        curve=curve,
        curve_text=_read_out(report),
        numbered=len(report.clusters) <= NUMBERED_CENTERS,
        bounded=bool(guarantee(len(report.clusters), report.facts.data.shape[1])[0]),
        answer=tell_answer(report),
        cards=describe_cards(report),
        map_note=tell_map(report),
        members_note=tell_members(report),
        passes_note=tell_passes_down(report),
        curve_note=tell_curve(report),
        bound_note=tell_bound(report),
        time_note=tell_time(report),
        steps=describe_steps(report.facts),
        command=report.command,
        snippet=tell_snippet(report.facts),
        origin=describe_origin(report),
        plots=_escape_json(plots) if plots else None,
        bokeh=_trust(load_script()) if plots else None,
        script=_trust(_read("report.js")),
    )


def render_template(template: str, **values: Any) -> str:
    """Return a template of this package with its values, every text among them escaped."""
    page: str = (
        _environment().get_template(template).render(css=_trust(_read("report.css")), **values)
    )
    return page


def read_script(name: str) -> Any:
    """Return a script of this package, marked as one that a page may hold as it is."""
    return _trust(_read(name))


@cache
def _environment() -> Any:
    jinja = load_extra("jinja2", "report", "a report")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_read), autoescape=True, undefined=jinja.StrictUndefined
    )
    environment.filters["compact"] = _compact
    environment.filters["share"] = lambda part, whole: f"{part / whole:.1%}" if whole else DASH
    environment.filters["colour"] = lambda label: COLOURS[label % len(COLOURS)]
    return environment


def _compact(value: float, digits: int = 4) -> str:
    """Return a number briefly; what rounding left of zero is zero."""
    return "0" if abs(value) < NOTHING else write_number(value, digits)


def _read(name: str) -> str:
    return (files("projected_kmeans.reports") / "templates" / name).read_text("utf-8")


def _trust(text: str) -> Any:
    """Mark a script or a style of our own as what must not be escaped."""
    return load_extra("markupsafe", "report", "a report").Markup(text)


def _escape_json(document: Any) -> Any:
    """Return JSON that cannot end the script element it stands in, whatever its texts say."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return _trust(text)


def _read_out(report: Report) -> str:
    """Return the curve as words for those who do not see it."""
    if report.curve is None:
        return ""
    pairs = zip(report.curve.dimensions, report.curve.ratios, strict=True)
    return ", ".join(f"{ratio:.3g} at {width}" for width, ratio in pairs if math.isfinite(ratio))
