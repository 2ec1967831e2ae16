"""`synthesis mcp`: the tools of Synthesis over standard input and output."""

from pathlib import Path

import click

from synthesis.errors import OptionError


@click.command("mcp")
@click.option("--root", default=".", metavar="DIR", help="The folder below which files may be read. [default: .]")
def mcp(root: str) -> None:
    """Serve the checks to a client that speaks the Model Context Protocol (stdio).

    Tools: evaluate_reply, evaluate_case_file, explain_rule, list_checks, list_packs, judge_answer_offline.
    """
    from synthesis.mcp_server import build_server

    if not Path(root).is_dir():
        raise OptionError(f"--root {root} is no folder", hint="Give the folder that holds your case files.")
    build_server(Path(root)).run("stdio")
