"""A limit of memory as users write it."""

from __future__ import annotations

import math
import re

from projected_kmeans.checks import check_count

# Units of 1000 (KB) and of 1024 (KiB), in bytes.
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_memory(limit: int | str | None) -> int | None:
    """Return a limit in bytes, or None if there is none.

    Parameters
    ----------
    limit : int, str or None
        Bytes, or a number with a unit: "500MB" is 500 * 10**6 bytes, "2GiB" is 2 * 2**30.

    Examples
    --------
    >>> parse_memory("1.5 GB"), parse_memory("64KiB"), parse_memory(None)
    (1500000000, 65536, None)
    """
    if limit is None:
        return None
    if not isinstance(limit, str):
        check_count("memory_limit", limit)
        return int(limit)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", limit, re.IGNORECASE)
    if (
        found is None
        or found[2].upper() not in UNITS
        or not 0 < float(found[1]) * UNITS[found[2].upper()] < math.inf
    ):
        raise ValueError(
            f"memory_limit={limit!r} is not a size; use bytes or a text such as '500MB' or '2GiB'"
        )
    return int(float(found[1]) * UNITS[found[2].upper()])
