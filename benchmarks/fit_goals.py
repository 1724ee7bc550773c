"""The goals of a whole fit, and whether the stored results meet them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fit_systems import FAISS, OURS, SKLEARN, SUPERKMEANS, SYSTEMS

BYTES_A_FLOAT = 4


@dataclass(frozen=True)
class Verdict:
    """A goal on a data set, what was found, and whether it is met; None if that is unknown."""

    goal: str
    found: str
    met: bool | None


@dataclass(frozen=True)
class PeerGoal:
    """At most ``quality`` times the F~ of a peer, in at most 1/``share`` of its time."""

    peer: str
    quality: float
    share: int

    @property
    def text(self) -> str:
        """The goal as the page names it."""
        name = self.peer if self.quality == 1 else f"{self.peer} + {self.quality - 1:.1%}"
        return f"F~ of {name}, {SYSTEMS[self.peer].main}, in 1/{self.share} of its time"

    def check(self, entry: Mapping[str, Any]) -> Verdict:
        """Compare our default call with the peer's main effort."""
        ours, peer = find_main(entry, OURS), find_main(entry, self.peer)
        if ours is None or peer is None:
            missing = OURS if ours is None else self.peer
            return Verdict(self.text, f"no figure of {missing}", None)
        quality = ours["normalized_inertia"] / peer["normalized_inertia"]
        speed = peer["seconds"] / ours["seconds"]
        return Verdict(
            self.text,
            f"F~ / its F~ {quality:.4f}, its time / ours {speed:.2f}",
            quality <= self.quality and speed >= self.share,
        )


# The goals for up to 100 clusters, and from 1,000 clusters on.
FEW_CLUSTERS = (PeerGoal(FAISS, 1.0, 4), PeerGoal(SKLEARN, 1.002, 20))
MANY_CLUSTERS = (PeerGoal(SUPERKMEANS, 1.0, 2),)

# Number of columns from which on a fit is to be faster than those of peers.
WIDE = 500
MAX_FEW = 100
MIN_MANY = 1000

# Maximum of F~ divided by that of the best peer.
NEAR = 1.01


def check_goals(entry: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict of every goal that applies to a data set."""
    goals: tuple[PeerGoal, ...] = ()
    if entry["k"] <= MAX_FEW and entry["d"] >= WIDE:
        goals = FEW_CLUSTERS
    elif entry["k"] >= MIN_MANY:
        goals = MANY_CLUSTERS
    for goal in goals:
        system = SYSTEMS[goal.peer]
        if system.sparse if entry["sparse"] else system.dense:
            yield goal.check(entry)
    yield check_memory(entry)
    yield check_best(entry)


def check_memory(entry: Mapping[str, Any]) -> Verdict:
    """Compare the peak memory with the size of two sketches."""
    goal = "memory beyond the data at most 2 n t floats"
    ours = find_main(entry, OURS)
    if ours is None or ours["extra_bytes"] is None:
        return Verdict(goal, "no figure of ours", None)
    floats = ours["extra_bytes"] / BYTES_A_FLOAT / entry["n"] / ours["n_components"]
    return Verdict(goal, f"{floats:.2f} n t floats, t = {ours['n_components']}", floats <= 2)


def check_best(entry: Mapping[str, Any]) -> Verdict:
    """Compare our F~ with the lowest of all efforts of all peers."""
    goal = "F~ within 1 % of the best peer"
    ours = find_main(entry, OURS)
    peers = [row for row in entry["rows"] if row["system"] != OURS]
    if ours is None or not peers:
        return Verdict(goal, "no figure of ours" if ours is None else "no peer", None)
    best = min(peers, key=lambda row: row["normalized_inertia"])
    quality = ours["normalized_inertia"] / best["normalized_inertia"]
    return Verdict(goal, f"{quality:.4f} of {best['system']}, {best['effort']}", quality <= NEAR)


def find_main(entry: Mapping[str, Any], system: str) -> Mapping[str, Any] | None:
    """Return the row of a system's main effort, which goals compare."""
    sought = (system, SYSTEMS[system].main)
    return next((row for row in entry["rows"] if (row["system"], row["effort"]) == sought), None)
