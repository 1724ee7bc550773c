"""CLUSTER: very many clusters: seeding by cells, then passes among near centers with swaps.

Connects the passes with the run: who may stop them, and what is stored of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.stored_partitions import are_centers, are_labels
from projected_kmeans.results import Clustering
from projected_kmeans.running.monitor import Plateau
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.cell_passes import CellPasses, CellState
from projected_kmeans.solvers.cell_seeding import CellSeeds, seed_by_cells
from projected_kmeans.solvers.single_restart import Effort


def search_cells(
    problem: Problem, n_clusters: int, n_held: int, effort: Effort, run: Run, restart: int = 0
) -> Clustering:
    """Seed by cells, and run Lloyd's method among near centers, with swaps after its first passes.

    Parameters
    ----------
    problem : Problem
        Dense rows.
    n_clusters : int
        k.
    n_held : int
        Rows that take part in seeding; 0 for all rows as one cell, if there are few clusters. The
        result then names no cells.
    effort : Effort
        What the search may spend, and the key.
    run : Run
        Told of every pass; it may stop the search, and its checkpoint stores states.
    restart : int, default=0
        Which restart.
    """
    seeds = _seed(problem, n_clusters, n_held, effort.key, run, restart)
    passes = CellPasses(problem, seeds, effort, restart)
    monitor, checkpoint, owner = run.monitor, run.checkpoint, f"cells-{restart}"
    plateau, found = Plateau(monitor.report, effort.inertia_tol), None
    with monitor.step("cluster", effort.max_iter, restart):
        state = checkpoint.recall_running(owner, CellState, passes.fits)
        if state is not None:
            passes.resume(state)
            monitor.note("checkpoint: %s goes on after %d passes", owner, passes.n_passes)
            plateau.follow(passes.lloyd.history)
            monitor.skip(passes.n_passes)
        while not (plateau.reached and not passes.swaps_next) and passes.step():
            stopped = plateau(passes.n_passes, passes.lloyd.inertia) and monitor.stopped
            if stopped:  # before swaps, which raise the inertia until the next pass
                found = _copy_labels(passes.lloyd.result())
            if passes.swaps_next and not (stopped and checkpoint.folder is None):
                passes.swap()
            if checkpoint.folder is not None:
                checkpoint.keep_running(owner, passes.state())
            if stopped:
                break
    converged = passes.lloyd.converged or plateau.reached
    if converged and found is None:
        checkpoint.drop_running()
    found = found or passes.lloyd.result()
    if n_held == 0:
        return replace(found, converged=converged)
    cells, scattered = passes.search.cells, passes.scattered
    return replace(found, converged=converged, cells=cells, scattered=scattered)


def _copy_labels(found: Clustering) -> Clustering:
    return replace(found, labels=found.labels.copy())


def _seed(
    problem: Problem, n_clusters: int, n_held: int, key: int, run: Run, restart: int
) -> CellSeeds:
    name, shape = f"cells-{restart}-seeding", (n_clusters, problem.source.shape[1])
    known = run.recall(name, CellSeeds, partial(_are_seeds, problem.source.shape[0], shape))
    if known is not None:
        return known
    with run.monitor.step("seed", n_clusters, restart):
        seeds = seed_by_cells(problem, n_clusters, n_held, key, restart)
        run.monitor.report(n_clusters)
    run.keep(name, seeds)
    return seeds


def _are_seeds(n_rows: int, shape: tuple[int, int], seeds: CellSeeds) -> bool:
    return (
        are_centers(seeds.centers, shape)
        and are_labels(seeds.cells, shape[:1], n_rows)
        and are_labels(seeds.rows, (n_rows,), n_rows)
    )
