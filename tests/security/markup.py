"""Whether a hostile string has become markup in an answer."""

import csv
import io
import json
from html.parser import HTMLParser

from django.http.response import HttpResponseBase, StreamingHttpResponse

from tests.security.payloads import PRODUCT

RUNS = ("javascript:", "data:text", "data:image/svg", "vbscript:")
ADDRESSES = {"href", "src", "action", "formaction", "data", "poster", "srcset", "xlink:href"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
FOREIGN = {"iframe", "object", "embed", "base", "marquee", "style", "frame", "applet"}
WITHOUT_END = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
    *("source", "track", "wbr"),
}


class _Reader(HTMLParser):
    """Collects what ought not to be there, and text of strangers that htmx would look into."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.stack: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if tag in FOREIGN or tag.startswith("zx"):
            self.found.append(f"<{tag}>")
        if tag == "script" and "src" not in names and ("type", "application/json") not in attrs:
            self.found.append("<script> without an address")
        if tag == "meta" and "http-equiv" in names:
            self.found.append("<meta http-equiv>")
        if len(set(names)) < len(names):
            self.found.append(f"<{tag}> says an attribute twice: {names}")
        for name, value in attrs:
            self._look(tag, name, value or "")
        if tag not in WITHOUT_END:
            self.stack.append((tag, "hx-disable" in names))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self.stack):
            while self.stack.pop()[0] != tag:
                pass

    def _look(self, tag: str, name: str, value: str) -> None:
        if name.startswith(("zx", "on", "hx-on", "style")) or name == "srcdoc":
            self.found.append(f"<{tag} {name}={value[:60]!r}>")
        if name in ADDRESSES or name.startswith(("hx-get", "hx-post", "hx-put", "hx-delete")):
            plain = "".join(value.split()).lower()
            if plain.startswith(RUNS) or plain.startswith(("//", "\\")):
                self.found.append(f"<{tag} {name}={value[:60]!r}>")
        if name.startswith("hx-") and "zx()" in value and not value.startswith(("/", "?")):
            self.found.append(f"<{tag} {name}={value[:60]!r}>")


def misread(page: str) -> list[str]:
    """What in the page comes of a hostile string that was not escaped; empty if nothing does."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    found = sorted(set(reader.found))
    if PRODUCT in page:
        found.append("a template was evaluated")
    return found


def wrong(response: HttpResponseBase) -> list[str]:
    """What a hostile string has done to an answer, whatever kind of file it is."""
    if response.status_code >= 500:
        return [f"answered {response.status_code}"]
    kind = response.get("Content-Type", "").split(";")[0]
    text = body(response).decode("utf-8", "replace")
    if response.get("X-Content-Type-Options") != "nosniff":
        return ["may be sniffed"]
    if kind == "text/html":
        return misread(text)
    if kind == "image/svg+xml":
        return [what for what in misread(text) if "style" not in what and "href='#" not in what]
    if kind == "text/csv":
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        return [f"formula {cell[:40]!r}" for cell in cells if _is_formula(cell)]
    if kind == "application/json":
        json.loads(text)
    return []


def _is_formula(cell: str) -> bool:
    if not cell.lstrip(" \u200b\ufeff").startswith(FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def body(response: HttpResponseBase) -> bytes:
    """All of an answer, its file closed. Closing the answer would close the database too."""
    if isinstance(response, StreamingHttpResponse):
        whole = b"".join(bytes(part) for part in response)
        for close in vars(response)["_resource_closers"]:
            close()
        return whole
    return response.content  # type: ignore[attr-defined, no-any-return]
