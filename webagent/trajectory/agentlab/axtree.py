"""A text of the accessibility tree, where AgentLab kept only the browser's raw one."""

from __future__ import annotations

from typing import Any

from webagent.trajectory.untyped import items, mapping, text

_SILENT_ROLES = frozenset(("none", "generic", "InlineTextBox"))
_MAX_NODES = 200_000
_MAX_DEPTH = 200


def flatten_axtree(tree: Any) -> str:
    """One line per node, indented by depth: `[bid] role 'name', property=value`.

    Nodes without role, name and bid are passed over, their children are not.
    """
    nodes: dict[str, dict[str, Any]] = {}
    for item in items(mapping(tree).get("nodes"))[:_MAX_NODES]:
        node = mapping(item)
        if node.get("nodeId") is not None:
            nodes.setdefault(str(node["nodeId"]), node)
    lines: list[str] = []
    seen: set[str] = set()
    stack = [(next(iter(nodes), ""), 0)]
    while stack:
        key, depth = stack.pop()
        if key in seen or key not in nodes:
            continue
        seen.add(key)
        line = _line(nodes[key])
        if line:
            lines.append("\t" * min(depth, _MAX_DEPTH) + line)
        children = [str(child) for child in items(nodes[key].get("childIds"))]
        stack += [(child, depth + bool(line)) for child in reversed(children)]
    return "\n".join(lines)


def _line(node: dict[str, Any]) -> str:
    role = text(mapping(node.get("role")).get("value")) or ""
    name = text(mapping(node.get("name")).get("value")) or ""
    bid = text(node.get("browsergym_id"))
    if role in _SILENT_ROLES and not (bid and name):
        return ""
    if not role and not name:
        return ""
    shown = f"{role} {name!r}"
    if bid:
        shown = f"[{bid}] {shown}"
    return ", ".join([shown, *_properties(node)])


def _properties(node: dict[str, Any]) -> list[str]:
    shown = []
    value = mapping(node.get("value")).get("value")
    if value not in (None, ""):
        shown.append(f"value={value!r}")
    for item in items(node.get("properties")):
        name = text(mapping(item).get("name"))
        state = mapping(mapping(item).get("value")).get("value")
        if name and state is True:
            shown.append(name)
        elif name and state not in (None, False, ""):
            shown.append(f"{name}={state!r}")
    return shown
