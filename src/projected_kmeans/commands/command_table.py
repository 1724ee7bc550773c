"""The names of all commands, and the sentence that the overview says about each.

Imports nothing but the standard library, so that the overview is printed at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PROGRAM = "projected-kmeans"
INTERRUPTED = 130  # the exit code that shells give to a program that Ctrl-C ended

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "certify": "Prove how far the clustering LABELS of DATA can be from the best one.",
        "choose-k": "Compare numbers of clusters for the rows of DATA.",
        "compare": "Compare two clusterings of the same rows.",
        "completion": "Print a script that completes commands, options and files in SHELL.",
        "demo": "Compare with scikit-learn's k-means on built-in data.",
        "describe": "Tell what each cluster of MODEL is, for the rows of DATA.",
        "fit": "Cluster the rows of DATA.",
        "plan": "Show what fit would do with DATA, and its cost in time and memory.",
        "predict": "Label each row of DATA by the nearest center of MODEL.",
        "report": "Write the results of a fit as one HTML page.",
        "reproduce": "Run the paper's own experiments and print each result beside the paper's.",
        "serve": "Show the report of a fit in a browser, on this machine only.",
    }
)


def module_of(name: str) -> str:
    """Return the full name of the module that holds a command.

    Examples
    --------
    >>> module_of("choose-k")
    'projected_kmeans.commands.choose_k'
    """
    return f"projected_kmeans.commands.{function_of(name)}"


def function_of(name: str) -> str:
    """Return the name of the function that is the command, which is its module's name too.

    Examples
    --------
    >>> function_of("choose-k")
    'choose_k'
    """
    return name.replace("-", "_")
