"""Draw the tables of docs/scale.md on limits of memory, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measuring import format_table, replace_marked

SMALL, LARGE = "peaks of bench_storage.py", "seconds of bench_storage.py"

# Bytes of a row beside its sketch, as docs/scale.md counts them.
ROW_BYTES = 60


def render_storage(page: str, document: dict[str, Any], machine: str) -> str:
    """Return the page with both tables replaced; the first stays if it was not measured.

    Parameters
    ----------
    page : str
        The present page.
    document : dict
        The results that bench_storage.py stored.
    machine : str
        One line on machine and versions.
    """
    n, d, k = (document[name] for name in ("n", "d", "k"))
    if "small" in document:
        small = document["small"]
        n_bytes = 4 * small["n"] * d
        sentence = (
            "Measured peaks above the memory of the process before the fit, mapped pages included, "
            f"for a `.npy` file of {small['n']:,} x {d:,} float32 numbers "
            f"({n_bytes / 1e6:.0f} MB), k = {k}:"
        )
        parts = [sentence, peaks_table(small["fits"], small["n"]), machine]
        page = replace_marked(page, SMALL, parts)
    sentence = (
        f"For {n:,} rows ({4 * n * d / 1e9:.1f} GB), k = {k}, on "
        f"{document['machine']['threads']} cores, with the file in the system's cache "
        "(`python benchmarks/bench_storage.py`):"
    )
    return replace_marked(page, LARGE, [sentence, seconds_table(document["fits"]), machine])


def peaks_table(fits: Sequence[Any], n_rows: int) -> str:
    """Return the peak of every fit beyond the memory that was there."""
    lines = []
    for fit in fits:
        peak = (fit["peak_bytes"] - fit["base_bytes"]) / 1e6
        lines.append([name_fit(fit, n_rows), f"{peak:.0f} MB"])
    return format_table(["", "peak"], lines)


def name_fit(fit: dict[str, Any], n_rows: int) -> str:
    """Return the parameters of a fit as they are typed, and where its sketch was."""
    if fit["limit"] is None:
        return "`np.load` and `fit`"
    words = [f'`memory_limit="{fit["limit"]}"`']
    if fit["projection"] != "auto":
        words.append(f'`projection="{fit["projection"]}"`')
    limit = float(fit["limit"].removesuffix("MB").removesuffix("GB"))
    limit *= 1e6 if fit["limit"].endswith("MB") else 1e9
    if n_rows * (4 * fit["n_components"] + ROW_BYTES) > limit / 2:
        words.append("the sketch in a file")
    return ", ".join(words)


def seconds_table(fits: Sequence[Any]) -> str:
    """Return the seconds of fits with the default map, and the peak of the whole process."""
    lines = []
    for fit in fits:
        if fit["projection"] != "auto":
            continue
        if fit["limit"] is None:
            steps = sum(fit["steps"].values())
            loading = fit["seconds"] - steps
            lines.append([f"in memory, after {loading:.1f} s of loading", f"{steps:.1f}", ""])
        else:
            peak = f"{fit['peak_bytes'] / 1e6:.0f} MB"
            lines.append([f'`memory_limit="{fit["limit"]}"`', f"{fit['seconds']:.1f}", peak])
    return format_table(["", "seconds", "peak of the whole process"], lines)
