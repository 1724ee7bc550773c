"""Check what a fit is asked to prove."""

from __future__ import annotations

from projected_kmeans.checks import check_choice, check_not_negative
from projected_kmeans.choices import CERTIFICATES


def check_certificate(method: str | None, time_limit: float | None) -> None:
    """Check what `ProjectedKMeans` was given as ``certificate`` and ``certificate_time``.

    Parameters
    ----------
    method : {"auto", "spectral", "full", "semidefinite"} or None
        ``certificate``; None asks for no certificate.
    time_limit : float or None
        ``certificate_time`` in seconds; None sets no limit.

    Raises
    ------
    ValueError
        If the method is unknown or the time limit is negative.
    """
    check_choice("certificate", method, (None, *CERTIFICATES))
    if time_limit is not None:
        check_not_negative("certificate_time", time_limit)


def check_guarantee(guarantee: float) -> None:
    """Raise a ValueError or TypeError if no fit can be asked for this guarantee.

    Examples
    --------
    >>> check_guarantee(0.01)
    Traceback (most recent call last):
    ...
    ValueError: guarantee=0.01 is below 1; for 1 % above the minimum inertia use 1.01
    """
    check_not_negative("guarantee", guarantee)
    if guarantee < 1:
        raise ValueError(
            f"guarantee={guarantee:g} is below 1; for 1 % above the minimum inertia use 1.01"
        )
