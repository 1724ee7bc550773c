"""What the command line says about an error: one sentence for whatever was raised."""

from __future__ import annotations

import click

from projected_kmeans.commands.command_table import PROGRAM
from projected_kmeans.messages import MAX_REASON, one_line, suggest

DEFECT = "this is a defect of projected_kmeans: run again with --debug and report it"


def describe_failure(error: BaseException) -> str:
    """Return one sentence about an error that ended a command.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Examples
    --------
    >>> describe_failure(ValueError("k=0 is too small;\\n use at least 1"))
    'k=0 is too small; use at least 1'
    >>> describe_failure(FileNotFoundError(2, "No such file or directory", "rows.npy"))
    'rows.npy cannot be used (No such file or directory); check the path, its rights and the disk'
    >>> describe_failure(KeyError("seed"))[:53]
    "unexpected KeyError ('seed'); this is a defect of pro"
    """
    try:
        return one_line(_describe(error))
    except MemoryError:  # there is too little even to find out more
        return "out of memory; set --memory-limit, or use fewer rows, columns or clusters"


def _describe(error: BaseException) -> str:
    if isinstance(error, click.NoSuchOption):
        place = PROGRAM if error.ctx is None else error.ctx.command_path
        advice = suggest(error.option_name, error.possibilities or (), f"see {place} --help")
        return f"no such option {error.option_name!r}; {advice}"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, (MemoryError, OSError)):
        return _describe_system(error)
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{error.object[error.start : error.end]!a} cannot be written in the encoding "
            f"{error.encoding}; set PYTHONIOENCODING=utf-8, or use names in plain letters"
        )
    if isinstance(error, (ValueError, TypeError)) and str(error):
        return str(error)
    # Imported here, so that an overview or a mistyped option does not wait for it.
    from projected_kmeans.blocks.dask.cluster_errors import ClusterError

    if isinstance(error, ClusterError):
        return str(error)
    details = f" ({one_line(str(error), MAX_REASON)})" if str(error) else ""
    return f"unexpected {type(error).__name__}{details}; {DEFECT}"


def _describe_system(error: MemoryError | OSError) -> str:
    from projected_kmeans.sources.memory_shortage import describe_shortage, is_shortage

    if is_shortage(error):
        return str(describe_shortage(error))
    assert isinstance(error, OSError)
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return (
            f"{error.filename} cannot be used ({reason}); check the path, its rights and the disk"
        )
    return (
        f"the system refused an operation ({reason}); check the disk, the network and "
        "the limits of this process"
    )
