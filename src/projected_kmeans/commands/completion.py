"""The command ``completion``: print the script that completes words in a shell.

The script is click's own. It asks this program which words may come next.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from projected_kmeans.commands.main import PROGRAM

SHELLS = ("bash", "zsh", "fish")
VARIABLE = f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE"


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and files in SHELL.

    SHELL is bash, zsh or fish. Add the line for your shell to the file that it reads at startup.

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
    # The method source() would start a bash to ask for its version.
    script = kind(context.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())
