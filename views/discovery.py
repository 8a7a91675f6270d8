"""Find tools by scanning `views/tools`: a module with `TOOL` is one, named as its method."""

import logging

from backends.discovery import scan
from views.contract import Figure, Tool

log = logging.getLogger("glasswork.discovery")


def find_tools(package: str = "views.tools") -> dict[str, Tool]:
    """Return the tools by method key, in the order of tabs. A broken module is logged."""
    rows = scan(package, "TOOL")
    tools = {name: tool for name, tool, reason in rows if reason is None}
    for name, tool in tools.items():
        if tool.method.key != name:
            raise ValueError(f"Tool module {name!r} shows method {tool.method.key!r}.")
    return dict(sorted(tools.items(), key=lambda item: (item[1].tab, item[1].order, item[0])))


def figures_of(key: str) -> dict[str, Figure]:
    """Return the figures of a method's tool by name; none if it has no tool."""
    tool = find_tools().get(key)
    return {} if tool is None else dict(tool.figures)
