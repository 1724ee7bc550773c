"""Write docs/benchmarks.md, its picture, and the measured sections of other pages and README.md.

Run ``python benchmarks/render.py``. It draws the stored results and measures nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busy_tables import render_busy
from certificate_tables import render_certificates
from cost_tables import render_costs
from field_tables import render_field
from file_tables import render_files
from fit_chart import draw_fits
from fit_tables import render_fits
from kmeans_tables import render_kmeans
from many_tables import render_many, render_predictions
from measuring import RESULTS, format_table
from provenance import describe
from readme_figures import render_readme
from search_tables import render_search
from size_tables import render_sizes
from storage_tables import render_storage
from stream_tables import render_stream
from wide_tables import render_wide

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
FILES_PAGE, SCALE_PAGE = PAGE.with_name("files.md"), PAGE.with_name("scale.md")
DASK_PAGE = PAGE.parent / "howto" / "dask.md"
PROOF_PAGE = PAGE.parent / "explanation" / "certificate.md"
IMAGE = PAGE.parent / "images" / "fit.svg"
README = PAGE.parents[1] / "README.md"

INTRODUCTION = """# Benchmarks

All systems are measured side by side on the same number of threads. Times on a shared machine
vary; ratios of times vary less. A line below each heading says when, where and by which command its
tables were measured. `make bench` repeats the first three sections, and `make figures` all that
need no other build of the package.
"""


def render_projection(document: dict[str, Any]) -> str:
    """Return the section on the random maps."""
    parts = [
        "## Random maps",
        describe(document),
        "**Speed of the sign product divided by that of numpy's `A @ R`** (R is in memory; the "
        "time to make it is not counted).",
        ratio_table(document["rows"], "dense float32", "sign", "numpy A @ R"),
        "**The same on one thread.**",
        ratio_table(document["rows"], "one thread", "sign", "numpy A @ R"),
        "**The same for uint8 rows**, where numpy has to convert them to float32 first.",
        ratio_table(document["rows"], "dense uint8", "sign", "numpy A @ R"),
        "**Time of all maps divided by the time to read A from memory** (float32).",
        system_table(document["rows"], "dense float32", "read"),
        "**Few rows**: time divided by that of `A @ R` with R in memory; d = 65,536.",
        system_table(document["rows"], "few rows", "numpy A @ R"),
        "**Sparse rows** (CSR, 10,000 x 50,000 with 100 nonzeros in each row): milliseconds.",
        millisecond_table(document["rows"], "CSR"),
        "**Memory** beyond data and output at d = 1,000,000 and t = 1,024, in MB: "
        + ", ".join(f"{name} {size}" for name, size in document["extra_megabytes"].items())
        + ".",
    ]
    return "\n\n".join(parts)


def pick(rows: Sequence[Any], case: str) -> dict[tuple[int, int, int], dict[str, float]]:
    """Return the seconds of every system, by shape, of one case."""
    found: dict[tuple[int, int, int], dict[str, float]] = {}
    for row in rows:
        if row["case"] == case:
            size = (row["n"], row["d"], row["t"])
            found.setdefault(size, {})[row["system"]] = row["seconds"]
    return found


def ratio_table(rows: Sequence[Any], case: str, system: str, peer: str) -> str:
    """Return a peer's time divided by a system's: a line for each shape, a column for each t."""
    found = pick(rows, case)
    shapes = sorted({size[:2] for size in found})
    dimensions = sorted({size[2] for size in found})
    lines = [
        [f"{n:,} x {d:,}"]
        + [f"{found[n, d, t][peer] / found[n, d, t][system]:.2f}" for t in dimensions]
        for n, d in shapes
    ]
    return format_table(["n x d", *(f"t = {t}" for t in dimensions)], lines)


def system_table(rows: Sequence[Any], case: str, base: str) -> str:
    """Return the time of every system divided by that of ``base``, a line for each shape."""
    found = pick(rows, case)
    systems = [name for name in next(iter(found.values())) if name != base]
    lines = [
        [name_shape(size), *(f"{times[name] / times[base]:.2f}" for name in systems)]
        for size, times in found.items()
    ]
    return format_table(["", *systems], lines)


def millisecond_table(rows: Sequence[Any], case: str) -> str:
    """Return the milliseconds of every system, a line for each shape."""
    found = pick(rows, case)
    systems = list(next(iter(found.values())))
    lines = [
        [name_shape(size), *(f"{1e3 * times[name]:.1f}" for name in systems)]
        for size, times in found.items()
    ]
    return format_table(["", *systems], lines)


def name_shape(size: tuple[int, int, int]) -> str:
    """Return a line's heading."""
    return f"{size[0]:,} x {size[1]:,}, t = {size[2]}"


def render_page(folder: Path) -> str:
    """Return the whole page, from the results that are stored in a folder."""
    parts = [INTRODUCTION]
    projection, kmeans, fit = (folder / f"{name}.json" for name in ("projection", "kmeans", "fit"))
    if projection.is_file():
        parts.append(render_projection(json.loads(projection.read_text())))
    if kmeans.is_file():
        document = json.loads(kmeans.read_text())
        parts.append(("\n" if len(parts) > 1 else "") + render_kmeans(document, describe(document)))
    if fit.is_file():
        image = IMAGE.relative_to(PAGE.parent).as_posix()
        section = render_fits(json.loads(fit.read_text()), describe, image)
        parts.append(("\n" if len(parts) > 1 else "") + section)
    for name, render in (
        ("busy", render_busy),
        ("wide", render_wide),
        ("sizes", render_sizes),
        ("many_clusters", render_many),
        ("predict", render_predictions),
        ("field", render_field),
        ("search", render_search),
    ):
        path = folder / f"{name}.json"
        if path.is_file():
            document = json.loads(path.read_text())
            parts.append(("\n" if len(parts) > 1 else "") + render(document, describe(document)))
    return "\n".join([*parts, ""])


def render_files_page(folder: Path) -> str:
    """Return the page on files, with the stored times of a folder if there are any."""
    page, stored = FILES_PAGE.read_text(), folder / "files.json"
    if not stored.is_file():
        return page
    document = json.loads(stored.read_text())
    return render_files(page, document, describe(document))


def render_scale_page(folder: Path) -> str:
    """Return the page on scale, with the stored results of limits and streams."""
    page = SCALE_PAGE.read_text()
    for name, render in (("storage", render_storage), ("stream", render_stream)):
        stored = folder / f"{name}.json"
        if stored.is_file():
            document = json.loads(stored.read_text())
            page = render(page, document, describe(document))
    return page


def render_dask_page(folder: Path) -> str:
    """Return the page on Dask, with the stored costs if all of them are there."""
    page = DASK_PAGE.read_text()
    paths = [folder / f"{name}.json" for name in ("dask", "client", "workers")]
    if not all(path.is_file() for path in paths):
        return page
    dask, client, workers = (json.loads(path.read_text()) for path in paths)
    return render_costs(page, dask, describe(dask), client, workers)


def render_proof_page(folder: Path) -> str:
    """Return the page on certificates, with the stored proofs of a folder if there are any."""
    page, stored = PROOF_PAGE.read_text(), folder / "certificates.json"
    if not stored.is_file():
        return page
    document = json.loads(stored.read_text())
    return render_certificates(page, document, describe(document))


def render_readme_page(folder: Path) -> str:
    """Return the README, with the stored fits of a folder if there are any."""
    page, fit, field = README.read_text(), folder / "fit.json", folder / "field.json"
    if not (fit.is_file() and field.is_file()):
        return page
    return render_readme(page, json.loads(fit.read_text()), json.loads(field.read_text()))


def main() -> None:
    """Render all stored results."""
    README.write_text(render_readme_page(RESULTS))
    PROOF_PAGE.write_text(render_proof_page(RESULTS))
    PAGE.write_text(render_page(RESULTS))
    FILES_PAGE.write_text(render_files_page(RESULTS))
    SCALE_PAGE.write_text(render_scale_page(RESULTS))
    DASK_PAGE.write_text(render_dask_page(RESULTS))
    fit = RESULTS / "fit.json"
    if fit.is_file():
        draw_fits(json.loads(fit.read_text()), IMAGE)


if __name__ == "__main__":
    main()
