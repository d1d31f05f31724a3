"""A trace as it is kept for a better importer: the same zip without its secrets.

Cookies, authorisation headers, log-in bodies and passwords stand in the network lines and in the
calls; frames and page resources stay as they are, bodies of requests go.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping

from webagent.trajectory.bounds import BoundError
from webagent.trajectory.nested import open_inner
from webagent.trajectory.records import BlobRecord
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.trees import Tree, TreeError, read_file
from webagent.trajectory.untyped import mapping

_LINES = (".trace", ".network")
_RESOURCES = ("resources/", "screencast/")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def kept_trace(tree: Tree, files: RunFiles, path: str) -> BlobRecord | None:
    """The zipped trace under this path as a blob; None, with a note, if it cannot be read."""
    try:
        inner = open_inner(tree, files.files[path], files.bounds)
        return _kept(inner, {name: name for name in inner.names}, files, path)
    except (BoundError, TreeError) as error:
        files.note("trace", path, str(error))
        return None


def kept_tree(tree: Tree, files: RunFiles, name: str) -> BlobRecord | None:
    """The trace that the run's files are, as a blob of this name."""
    try:
        return _kept(tree, files.files, files, name)
    except (BoundError, TreeError) as error:
        files.note("trace", name, str(error))
        return None


def _kept(tree: Tree, members: Mapping[str, str], files: RunFiles, shown: str) -> BlobRecord | None:
    limit = files.bounds.blob_bytes
    if sum(tree.size(name) for name in members.values()) > limit:
        files.drop("trace", shown, f"not kept whole: more than {limit} bytes")
        return None
    out = io.BytesIO()
    bodies: set[str] = set()
    with zipfile.ZipFile(out, "w") as archive:
        # Lines first: they tell which resources are bodies of requests.
        for path in sorted(members, key=lambda path: (not path.endswith(_LINES), path)):
            if path in bodies or not path.endswith(_LINES) and not path.startswith(_RESOURCES):
                continue
            content = read_file(tree, members[path], limit)
            if path.endswith(_LINES):
                content = _redacted_lines(content, files.redactor, bodies)
            entry = zipfile.ZipInfo(path, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    content = out.getvalue()
    return BlobRecord(
        sha256=files.stash.add_bytes(content),
        media_type="application/zip",
        bytes=len(content),
        role="source",
        name=shown[: files.bounds.path_chars],
    )


def _redacted_lines(content: bytes, redactor: Redactor, bodies: set[str]) -> bytes:
    """Lines of JSON without secrets; one that is none goes: nobody can tell what it holds.

    Names of files that hold bodies of requests are added to `bodies`.
    """
    kept = []
    for line in content.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        request = mapping(mapping(mapping(value).get("snapshot")).get("request"))
        body = mapping(request.get("postData"))
        bodies |= {name for name in (body.get("_file"), f"resources/{body.get('_sha1')}") if name}
        kept.append(json.dumps(redactor.json(value), ensure_ascii=False, separators=(",", ":")))
    return "\n".join([*kept, ""]).encode("utf-8", "replace")
