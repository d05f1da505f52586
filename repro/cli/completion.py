"""`repro completion`."""

import click
from click.shell_completion import get_completion_class


@click.command(help='Print the completion script of a shell: eval "$(repro completion bash)".')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print Click's own script."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101
    print(kind(ctx.find_root().command, {}, "repro", "_REPRO_COMPLETE").source())
