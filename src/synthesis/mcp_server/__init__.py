"""The tools of `synthesis mcp`: the same functions as everywhere, for a client that speaks the Model Context Protocol.

Results are typed, so that a client gets their schema. A tool that cannot do what it was asked answers with an error in
words. Files are read only below the folder that the server was started for.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesis._version import __version__
from synthesis.errors import MissingExtraError, SynthesisError
from synthesis.mcp_server.tools import Tools
from synthesis.report.verdicts import SHORT_DISCLAIMER

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def build_server(root: Path) -> "MCPServer[Any]":
    """The server with all tools, ready to be run."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("mcp", "the MCP server") from None
    server: MCPServer[Any] = MCPServer(
        "synthesis",
        version=__version__,
        instructions=f"Checks of what an assistant says to people. {SHORT_DISCLAIMER}",
        log_level="WARNING",
    )
    tools = Tools(root)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (
        tools.evaluate_reply,
        tools.evaluate_case_file,
        tools.explain_rule,
        tools.list_checks,
        tools.list_packs,
        tools.judge_answer_offline,
    ):
        server.tool(annotations=reads)(_answering_in_words(tool, ToolError))
    return server


def _answering_in_words(tool: Callable[..., Any], tool_error: type[Exception]) -> Callable[..., Any]:
    """The server keeps the message of its own kind of error alone; of any other a client would see nothing."""

    @wraps(tool)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except SynthesisError as error:
            raise tool_error(str(error)) from None

    return call
