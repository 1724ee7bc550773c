"""The command ``completion``: the script that teaches a shell to complete words.

The script is click's own; it asks the program itself for what may come next.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from projected_kmeans.commands import PROGRAM

SHELLS = ("bash", "zsh", "fish")
VARIABLE = f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE"


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and files in SHELL.

    SHELL is bash, zsh or fish. Add its line to the file that your shell reads at its start.

    \b
    bash, in ~/.bashrc:
      eval "$(projected-kmeans completion bash)"

    \b
    zsh, in ~/.zshrc:
      eval "$(projected-kmeans completion zsh)"

    \b
    fish, in ~/.config/fish/config.fish:
      projected-kmeans completion fish | source
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # Not source(), which for bash starts a bash to ask for its version.
    script = kind(context.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())
