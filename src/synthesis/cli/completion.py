"""`synthesis completion`: a script that lets a shell complete commands and options."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    Add to your shell's start-up file:  eval "$(synthesis completion bash)"
    """
    from click.shell_completion import get_completion_class

    from synthesis.cli.main import main

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "synthesis", "_SYNTHESIS_COMPLETE").source())
