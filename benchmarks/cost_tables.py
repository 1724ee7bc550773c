"""Draw the section of docs/scale.md on the costs of fits on Dask, from stored results.

Measures nothing; ``cost_model.py`` computes the predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cost_model import Constants, Job, predict
from measuring import format_table, replace_section

HEADING = "## What a fit on a cluster costs"

# Rows, machines with 16 cores each, and whether the client takes the sketch.
PREDICTED = (
    (10**6, 1, True),
    (10**7, 4, True),
    (10**8, 16, True),
    (10**8, 16, False),
    (10**9, 64, False),
    (10**10, 256, False),
)
N_COLUMNS, N_CLUSTERS, CORES, BLOCK_BYTES = 1024, 1000, 16, 2**28


CONCLUSION = """\
Far beyond 10^8 rows the client is the bottleneck: the labels and candidates of all rows, though not
the rows, pass through it and are kept in its memory. `polish_iter=0` avoids the candidates, but
leaves the polishing out."""


def render_costs(page: str, document: dict[str, Any], machine: str) -> str:
    """Return the page with its section replaced.

    Parameters
    ----------
    page : str
        The present page.
    document : dict
        The results that dask_costs.py stored.
    machine : str
        One line on machine and versions.
    """
    constants = Constants(**document["constants"])
    elsewhere = replace(constants, network=document["assumed_network"])
    parts = [
        HEADING,
        machine,
        "A default fit (64 principal directions, one polish pass over 16 candidates a row) of "
        "float32 rows. `benchmarks/cost_model.py` computes its costs from these constants, "
        "measured by `python benchmarks/dask_costs.py`; `python benchmarks/render.py` draws this "
        "section.",
        constants_table(constants, document["assumed_network"]),
        f"**The model beside fits here**: {document['columns']:,} columns, "
        f"{document['clusters']} clusters, two worker processes, files in the system's cache, the "
        "loopback in the place of a network. Seconds as predicted / as measured. Passes on the "
        "sketch are predicted without the bounds that a client which holds it uses. The model "
        "assumes that every worker has a core of its own. Here two workers, the scheduler and the "
        "client share two cores with other work, so that most steps take longer than predicted.",
        checks_table(document["checks"]),
        f"**Up to 10^10 rows** of {N_COLUMNS:,} columns, {N_CLUSTERS:,} clusters, 30 passes on the "
        f"sketch, blocks of 256 MB, machines of {CORES} cores like those here, each with the disk "
        f"measured here, and a client of {CORES} cores. The network is an assumption: "
        f"{document['assumed_network'] / 1.25e8:.0f} Gbit/s at the client. *Moved* is what passes "
        "through the client, either way. All of it is predicted; nothing of this size was run.",
        predictions_table(elsewhere),
        CONCLUSION,
    ]
    return replace_section(page, parts)


def constants_table(constants: Constants, network: float) -> str:
    """Return a line for each constant, in readable units."""
    giga = 1e-9
    lines = [
        ["reading a file that is not cached, GB/s a machine", f"{constants.read * giga:.2f}"],
        ["check and reduce, GB/s a core", f"{constants.reduce * giga:.2f}"],
        ["lift, GB/s a core", f"{constants.lift * giga:.2f}"],
        ["polish pass, 16 candidates a row, GB/s a core", f"{constants.polish * giga:.2f}"],
        ["pass on the sketch, 10^9 products/s a core", f"{constants.lloyd * giga:.1f}"],
        ["directions from 5,461 rows of 1,024 columns, s", f"{constants.directions:.2f}"],
        ["a walk, ms", f"{1e3 * constants.walk:.0f}"],
        ["each further block of a walk, ms", f"{1e3 * constants.block:.1f}"],
        ["loopback from a worker to the client, GB/s", f"{constants.network * giga:.2f}"],
        ["network, assumed, GB/s", f"{network * giga:.2f}"],
    ]
    return format_table(["constant", ""], lines)


def checks_table(checks: Sequence[Any]) -> str:
    """Return a line for each fit: seconds and bytes, predicted and measured."""
    lines = [
        [
            f"{check['n']:,}, sketch {'at the client' if check['gathered'] else 'on the workers'}",
            *(
                f"{check['steps'][step]['predicted']:.2f} / {check['steps'][step]['seconds']:.2f}"
                for step in ("reduce", "cluster", "lift", "polish")
            ),
            f"{check['predicted_moved'] / 1e6:.1f} / {check['moved'] / 1e6:.1f}",
        ]
        for check in checks
    ]
    return format_table(["rows", "reduce", "cluster", "lift", "polish", "MB moved"], lines)


def predictions_table(constants: Constants) -> str:
    """Return a line for each size: bytes read, moved and kept by the client, and the time."""
    lines = []
    for n_rows, machines, gathered in PREDICTED:
        job = Job(
            n_rows,
            N_COLUMNS,
            N_CLUSTERS,
            machines,
            CORES,
            BLOCK_BYTES,
            gathered=gathered,
            client_cores=CORES,
        )
        costs = predict(job, constants)
        lines.append(
            [
                f"{n_rows:,}, sketch {'at the client' if gathered else 'on the workers'}",
                str(machines),
                name_bytes(job.data_bytes),
                name_bytes(sum(cost.read for cost in costs)),
                name_bytes(sum(cost.moved for cost in costs)),
                name_bytes(job.client_bytes),
                name_seconds(sum(cost.seconds for cost in costs)),
            ]
        )
    header = ["rows", "machines", "data", "read", "moved", "client's memory", "time"]
    return format_table(header, lines)


def name_bytes(size: float) -> str:
    """Return a number of bytes in MB, GB or TB."""
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e6:.0f} MB"


def name_seconds(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"
