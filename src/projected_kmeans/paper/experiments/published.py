"""The numbers that the paper prints, as it prints them.

Data only: nothing here is measured or computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

DIMENSIONS = (10, 20, 50, 100)
METHODS = ("SVD", "LLE", "LS", "HD", "RP")


class Printed(NamedTuple):
    """One pair of Table 2: accuracy P and normalized inertia F."""

    P: float
    F: float


_HD = Printed(0.6255, 0.0220)

TABLE2: Mapping[str, Mapping[int, Printed]] = MappingProxyType(
    {
        "SVD": {
            10: Printed(0.5900, 0.0262),
            20: Printed(0.6750, 0.0268),
            50: Printed(0.7650, 0.0269),
            100: Printed(0.6500, 0.0324),
        },
        "LLE": {
            10: Printed(0.6500, 0.0245),
            20: Printed(0.7125, 0.0247),
            50: Printed(0.7725, 0.0258),
            100: Printed(0.6150, 0.0337),
        },
        "LS": {
            10: Printed(0.3400, 0.0380),
            20: Printed(0.3875, 0.0362),
            50: Printed(0.4575, 0.0319),
            100: Printed(0.4850, 0.0278),
        },
        "HD": dict.fromkeys(DIMENSIONS, _HD),
        "RP": {
            10: Printed(0.4225, 0.0283),
            20: Printed(0.4800, 0.0255),
            50: Printed(0.6425, 0.0234),
            100: Printed(0.6575, 0.0219),
        },
    }
)

# The t at which the paper timed the reduction step, and its seconds.
TIMED_DIMENSION = 50
REDUCTION_SECONDS: Mapping[str, float] = MappingProxyType(
    {"SVD": 5.9, "LLE": 4.4, "LS": 0.32, "HD": 0.0, "RP": 0.03}
)

# Figure 1: seconds to cluster at t = 275, to multiply A R there, and to cluster all dimensions.
FIGURE1_SECONDS: Mapping[str, float] = MappingProxyType(
    {"projected": 1.0, "product": 0.1, "original": 10.0}
)
