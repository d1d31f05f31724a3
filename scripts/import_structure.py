"""How the source is filed: files, folders, imports inside features, and circles.

    python scripts/import_structure.py

A feature is a folder of an app. Models, which everything needs, and addresses, which name
everything, count for no feature.
Exits with 1 where files import one another in a circle, or where `runs` names an address of
`judging` instead of asking its extension.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

APPS = ("runs", "judging")
PACKAGES = (*APPS, "webagent")
SOURCES = (".py", ".js", ".css", ".sh")
Imports = dict[str, set[str]]


def source_files() -> list[Path]:
    """Every file of source that git tracks, but for tests, tools and migrations."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(line) for line in listed.stdout.splitlines()]
    return [
        path
        for path in paths
        if path.suffix in SOURCES
        and path.exists()
        and path.parts[0] not in ("tests", "tools")
        and "migrations" not in path.parts
    ]


def module_name(path: Path) -> str:
    """`runs/queue/leases.py` as `runs.queue.leases`; a package by its folder."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(files: Iterable[Path]) -> Imports:
    """Which modules of the packages each module imports, also those for types alone."""
    modules = {
        module_name(path): path
        for path in files
        if path.suffix == ".py" and path.parts[0] in PACKAGES
    }
    return {
        name: {found for found in _named_in(path) if found in modules and found != name}
        for name, path in modules.items()
    }


def _named_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def share_inside(imports: Imports, app: str) -> float:
    """The share of the app's imports of itself that stay inside one feature; in [0, 1]."""
    pairs = [
        (name.split(".")[1], found.split(".")[1])
        for name, all_found in imports.items()
        for found in all_found
        if name.startswith(f"{app}.") and found.startswith(f"{app}.")
    ]
    counted = [(one, other) for one, other in pairs if not {one, other} & {"models", "urls"}]
    return sum(one == other for one, other in counted) / len(counted)


def circles(imports: Imports) -> list[list[str]]:
    """Groups of modules that import one another, by Tarjan's algorithm; packages' own apart."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(imports[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for name in sorted(imports):
        if name not in index:
            visit(name)
    return found


def links_up() -> list[str]:
    """Files of `runs`, and templates that all pages share, that name an address of `judging`."""
    shared = (Path("templates").glob("*.html"), Path("templates/_fragments").rglob("*.html"))
    own = (Path("templates/runs").rglob("*.html"), Path("runs").rglob("*.py"))
    found = [path for paths in (*shared, *own) for path in paths if "judging:" in path.read_text()]
    return sorted(map(str, found))


def main() -> int:
    """Print the figures; 1 where there is a circle or a link up."""
    files = source_files()
    imports = imports_of(files)
    print(f"{len(files)} files of source")
    modules = [path for path in files if path.suffix == ".py" and path.name != "__init__.py"]
    n_lines = sum(len(path.read_text().splitlines()) for path in modules)
    print(f"{len(modules)} Python modules without __init__, {n_lines} lines")
    for app in APPS:
        children = {path.parts[1] for path in files if path.parts[0] == app} - {"__init__.py"}
        share = share_inside(imports, app)
        print(f"{app}: {len(children)} children, {share:.0%} of imports inside their feature")
    importers: dict[str, int] = defaultdict(int)
    for all_found in imports.values():
        for name in all_found:
            importers[name] += 1
    print(f"{sum(n == 1 for n in importers.values())} modules with a single importer")
    for group in circles(imports):
        print(f"circle: {', '.join(group)}")
    for path in links_up():
        print(f"names an address of judging: {path}")
    return 1 if circles(imports) or links_up() else 0


if __name__ == "__main__":
    raise SystemExit(main())
