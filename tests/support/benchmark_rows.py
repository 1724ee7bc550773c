"""Small rows and settings with which benchmarks are tested."""

from __future__ import annotations

import data_sets
import peers
from measuring import Effort

MIXTURE = data_sets.make_mixture(1, n=400, d=128)
TEXTS = data_sets.make_texts(1, n=300, d=3000)

# One thread, one run, no rest: times are not judged.
EFFORT = Effort(n_threads=1, repeats=1, rest=0.0)
# What `load_peers` returns on a machine without any peer.
NOBODY = dict.fromkeys(peers.MODULES, "is not there.")
