"""Draw the section of docs/howto/dask.md on the costs of fits on Dask, from stored results.

Measures nothing; ``cost_model.py`` computes the predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cost_model import N_CANDIDATES, Constants, Job, Network, predict, simulate_walk
from measuring import format_table, replace_section
from provenance import describe

HEADING = "## What a fit on a cluster costs"

# Rows, machines with 16 cores each, and bytes of a block.
PREDICTED = (
    (10**6, 1, 2**26),
    (10**7, 4, 2**28),
    (10**8, 16, 2**28),
    (10**9, 64, 2**28),
    (10**9, 100, 2**30),
    (10**10, 100, 2**30),
    (10**10, 256, 2**30),
)
N_COLUMNS, N_CLUSTERS, CORES = 1024, 400, 16

# Rows of the levels before the last, and rounds of swaps on the last level of the sketch.
SAMPLED, SWAP_ROUNDS = 200 * N_CLUSTERS, 2

# Rows, bytes of a block, and seconds that a message takes.
SIMULATED = (
    (10**9, 2**28, 1e-3),
    (10**9, 2**30, 1e-3),
    (10**9, 2**30, 0.05),
    (10**10, 2**30, 1e-3),
    (10**10, 2**30, 0.05),
    (10**10, 2**32, 1e-3),
)
SIMULATED_MACHINES = 100


CONCLUSION = """\
Neither the client's memory nor the sums that a pass brings to it grow with the rows. What grows is
the number of blocks, each of which costs the scheduler some milliseconds a pass: with many machines
these are the bottleneck, so that blocks should be as large as the workers' memory allows. The
scheduler remembers every pass over every block until the fit ends, so that it can make labels again
that are lost with a worker: some 20 kB for each block and pass, which are gigabytes from 10^9 rows
on. Choose larger blocks, or a lower `max_iter`, if it has not so much memory."""


def render_costs(
    page: str,
    document: dict[str, Any],
    machine: str,
    client: dict[str, Any],
    workers: dict[str, Any],
) -> str:
    """Return the page with its section replaced.

    Parameters
    ----------
    page : str
        The present page.
    document : dict
        The results that dask_costs.py stored.
    machine : str
        One line on machine and versions.
    client : dict
        The results that bench_client.py stored.
    workers : dict
        The results that sleeping_workers.py stored.
    """
    constants = Constants(**document["constants"])
    elsewhere = replace(
        constants, network=document["assumed_network"], block=schedule_seconds(workers)
    )
    parts = [
        HEADING,
        machine,
        f"A fit (64 principal directions, one pass over the original rows among {N_CANDIDATES} "
        "near centers, the last labels) of float32 rows. `benchmarks/cost_model.py` computes its "
        "costs from these constants, measured by `python benchmarks/dask_costs.py`; `python "
        "benchmarks/render.py` draws this section.",
        constants_table(constants, document["assumed_network"]),
        f"**The model beside fits here**: {document['columns']:,} columns, "
        f"{document['clusters']} clusters, two worker processes, files in the system's cache, the "
        "loopback in the place of a network. Seconds as predicted / as measured. Passes on the "
        "sketch are predicted without the bounds that a client which holds it uses. The model "
        "assumes that every worker has a core of its own. Here two workers, the scheduler and the "
        "client share two cores with other work, so that most steps take longer than predicted.",
        checks_table(document["checks"]),
        f"**What the client keeps and gets**: fits of {client['columns']} columns and "
        f"{client['clusters']} clusters in blocks of {client['block_rows']:,} rows, on "
        f"{client['workers']} worker processes; nothing is projected, and "
        f"{client.get('passes', 10)} passes are made. "
        "*Peak* is the largest memory of the client's process, of which "
        f"{client['fits'][0]['base_bytes'] / 1e6:.0f} MB were there before the fit. *Got* and "
        "*sent* count all messages of a pass, those of Dask included. "
        f"{describe_messages(client['fits'])} (`python benchmarks/bench_client.py`)",
        describe(client),
        client_table(client["fits"]),
        "**What a block costs**: processor time of the scheduler and of the client for each block "
        f"of a walk, on {workers['workers']} workers that sleep in place of every kernel and hold "
        f"back each message for {1e3 * workers['latency']:g} ms. "
        "(`python benchmarks/sleeping_workers.py`)",
        describe(workers),
        workers_table(workers),
        f"**{SIMULATED_MACHINES} machines**, simulated: a polish pass over rows of {N_COLUMNS:,} "
        f"columns on machines of {CORES} cores. `simulate_walk` in `benchmarks/cost_model.py` "
        "follows every message of the client, the scheduler and the cores, with the processor "
        "times above, messages that take as long as the table says, and blocks whose times differ "
        "by 30 %. *Alone* is the time of the workers without any of that.",
        simulation_table(constants, workers),
        f"**Up to 10^10 rows** of {N_COLUMNS:,} columns, {N_CLUSTERS:,} clusters, 30 passes and "
        f"{SWAP_ROUNDS} rounds of swaps on the sketch, machines of {CORES} cores like those here, "
        "each with the disk measured here. The sketch stays on the workers. The scheduler takes "
        "the time above for each block, beside the workers. The network is an assumption: "
        f"{document['assumed_network'] / 1.25e8:.0f} Gbit/s at the client. *Moved* is what passes "
        "through the client, either way; memory is that beside the programs. All of it is "
        "predicted; nothing of this size was run.",
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
        [
            f"polish pass, {N_CANDIDATES} near centers, GB/s a core",
            f"{constants.polish * giga:.2f}",
        ],
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
    for n_rows, machines, block_bytes in PREDICTED:
        job = Job(
            n_rows,
            N_COLUMNS,
            N_CLUSTERS,
            machines,
            CORES,
            block_bytes,
            sampled=SAMPLED,
            swap_rounds=SWAP_ROUNDS,
            gathered=False,
        )
        costs = predict(job, constants)
        lines.append(
            [
                f"{n_rows:,}",
                str(machines),
                f"{job.n_blocks:,}",
                name_bytes(job.data_bytes),
                name_bytes(sum(cost.read for cost in costs)),
                name_bytes(sum(cost.moved for cost in costs)),
                name_bytes(job.client_bytes),
                name_bytes(job.scheduler_bytes),
                name_seconds(sum(cost.seconds for cost in costs)),
            ]
        )
    header = ["rows", "machines", "blocks", "data", "read", "moved", "client", "scheduler", "time"]
    return format_table(header, lines)


def client_table(fits: Sequence[Any]) -> str:
    """Return a line for each fit: what its client kept, and what a pass brought."""
    lines = [
        [
            f"{fit['n']:,}",
            str(fit["blocks"]),
            f"{fit['peak_bytes'] / 1e6:.0f} MB",
            f"{fit['received_a_pass'] / 1e3:.0f} kB",
            f"{fit['sent_a_pass'] / 1e3:.0f} kB",
        ]
        for fit in fits
    ]
    return format_table(["rows", "blocks", "peak", "got a pass", "sent a pass"], lines)


def describe_messages(fits: Sequence[Any]) -> str:
    """Return how many bytes of a pass do not grow, and how many each block adds."""
    first, last = fits[0], fits[-1]
    n_more = last["blocks"] - first["blocks"]
    got, sent = ((last[name] - first[name]) / n_more for name in ("received_a_pass", "sent_a_pass"))
    fixed = first["received_a_pass"] - got * first["blocks"]
    return (
        f"Sums, {fixed / 1e3:.0f} kB, do not grow with the rows; each block adds {got:,.0f} bytes "
        f"of messages to what the client gets and {sent:,.0f} to what it sends."
    )


def schedule_seconds(workers: dict[str, Any], name: str = "scheduler") -> float:
    """Return the processor time of the scheduler, or the client, for each block of a walk."""
    first, last = workers["walks"][0], workers["walks"][-1]
    return float((last[name] - first[name]) / (last["blocks"] - first["blocks"]))


def workers_table(workers: dict[str, Any]) -> str:
    """Return a line for each walk over simulated workers."""
    lines = [
        [
            f"{walk['blocks']:,}",
            f"{1e3 * walk['scheduler'] / walk['blocks']:.1f} ms",
            f"{1e3 * walk['client'] / walk['blocks']:.1f} ms",
        ]
        for walk in workers["walks"]
    ]
    return format_table(["blocks", "scheduler, a block", "client, a block"], lines)


def simulation_table(constants: Constants, workers: dict[str, Any]) -> str:
    """Return a line for each simulated pass over the rows."""
    lines = []
    per_block = schedule_seconds(workers), schedule_seconds(workers, "client")
    for n_rows, block_bytes, latency in SIMULATED:
        job = Job(n_rows, N_COLUMNS, N_CLUSTERS, SIMULATED_MACHINES, CORES, block_bytes)
        n_cores = job.machines * job.cores
        # Cores of a machine share its disk.
        rate = min(constants.polish, constants.read / CORES)
        seconds = block_bytes / rate
        walk = simulate_walk(job.n_blocks, n_cores, seconds, Network(*per_block, latency))
        lines.append(
            [
                f"{n_rows:,}",
                f"{job.n_blocks:,}",
                f"{1e3 * latency:.0f} ms",
                name_seconds(job.n_blocks * seconds / n_cores),
                name_seconds(walk),
            ]
        )
    return format_table(["rows", "blocks", "a message", "alone", "a pass"], lines)


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
