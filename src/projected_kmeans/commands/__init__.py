"""The commands by name: where each stands, and the sentence that the overview says of it.

A command is a module with a function of its name: flags -> one library call. It is imported when it
is called or asked for its own help, so that the overview and the version need no numerical package.
"""

from collections.abc import Mapping
from types import MappingProxyType

PROGRAM = "projected-kmeans"
INTERRUPTED = 130  # what shells call a program that Ctrl-C ended

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "certify": (
            "commands.certify",
            "Prove how far the clustering LABELS of DATA can be from the best one.",
        ),
        "choose-k": ("commands.choose_k", "Compare numbers of clusters for the rows of DATA."),
        "completion": (
            "commands.completion",
            "Print a script that completes commands, options and files in SHELL.",
        ),
        "demo": ("commands.demo", "Compare with k-means in the original space, on embedded data."),
        "fit": ("commands.fit", "Cluster the rows of DATA, of any size and many formats."),
        "plan": ("commands.plan", "Tell what fit would do with DATA, and what it would cost."),
        "predict": ("commands.predict", "Label the rows of DATA by the nearest center of MODEL."),
        "report": ("commands.report", "Write what a fit found as one HTML page."),
        "reproduce": (
            "commands.reproduce",
            "Run the paper's own experiments and print each result beside the paper's.",
        ),
        "serve": (
            "commands.serve",
            "Show the report of a fit in a browser, on this machine only.",
        ),
    }
)
