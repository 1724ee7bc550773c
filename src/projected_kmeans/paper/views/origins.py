"""The sentence on when, where and how the numbers of a document were measured."""

from __future__ import annotations

from projected_kmeans.paper.views.view import Document

COMMAND = "projected-kmeans reproduce"


def describe_origin(document: Document) -> str:
    """Return date, machine, versions and command of a document, in one sentence.

    Parameters
    ----------
    document : mapping
        A document that `run_experiment` stored. Older ones have no date and no command.
    """
    machine, measured = document["machine"], document.get("measured") or {}
    processor = machine.get("processor", machine["architecture"])
    start = measured.get("start")
    command = measured.get("command") or f"{COMMAND} {document['experiment']}"
    when = f"on {start[:10]}" if start else "(date not stored)"
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    return (
        f"*Measured {when} in {document['seconds']:.0f} s on {processor}, "
        f"{machine['processors']} processors, {machine['instruction_set']}, with `{command}`, key "
        f"{document['key']}; version {document['version']}, {versions}.*"
    )
