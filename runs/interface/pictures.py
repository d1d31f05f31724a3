"""Figures drawn by Matplotlib, as SVG that stands inside a page of ours.

Matplotlib writes colours and fonts into style attributes, which the pages' content security
policy refuses and which no theme can reach. Here they become presentation attributes (so that a
downloaded picture still has colours), and an artist whose `gid` starts with a dot gets CSS
classes instead (`.point.fn`), so that a style sheet paints it for light and dark.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from django.conf import settings
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ONE_AT_A_TIME = Lock()
"""Matplotlib's settings and Python's warning filters belong to the process, not to a thread."""

_NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PAINT = {"fill", "stroke"}
_KEPT = _PAINT | {
    "fill-opacity",
    "opacity",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "font-size",
    "font-weight",
    "text-anchor",
}


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A blank figure whose unit is the CSS pixel, without background."""
    _prepare()
    # Loading Matplotlib takes a second or more, and most processes never draw.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with (
        _ONE_AT_A_TIME,
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "crosscheck", "svg.id": None}),
    ):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        figure.patch.set_visible(False)
        yield figure


INK, MUTED, LINE = "#1a1c20", "#585e67", "#dfe0dd"
"""For a picture on its own; in a page, style sheets paint by class."""
_SIZES = {"axis": 11, "name": 13, "words": 12}


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """The same with axes over all of it, in pixels from the left and the top."""
    with drawing(width, height) as figure:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        yield figure, axes


def write(
    axes: Axes, x: float, y: float, text: str, kind: str, *, ha: str = "left", size: float = 0
) -> None:
    """Words of a kind: `axis`, `name` or `words`."""
    colour = INK if kind == "name" else MUTED
    axes.text(x, y, text, ha=ha, size=size or _SIZES[kind], color=colour, gid=f".{kind}")


def block(
    axes: Axes,
    corner: tuple[float, float],
    width: float,
    height: float,
    *,
    gid: str,
    url: str,
    **paint: Any,
) -> None:
    """A rectangle from its left and top corner, which leads to an address if there is one."""
    # As above: Matplotlib is loaded by those who draw.
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(corner, width, height, url=url or None, gid=gid, **paint))


def as_picture(figure: Figure, label: str, links: Mapping[str, str] | None = None) -> SafeString:
    """The drawn figure as an SVG element; call it within `drawing`.

    Safe to show as it is: the markup is ours and Matplotlib's alone, and what came from outside
    (names, words, addresses) is escaped by the XML writer.

    Args:
        label: what the picture shows, for those who do not see it.
        links: by address of a linked mark, the words to say of it on hover.
    """
    file = BytesIO()
    with warnings.catch_warnings():
        # Only the browser's fonts draw the text, and they have all glyphs.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(_as_xml(file.getvalue().decode()))  # noqa: S314, written above
    _clean(root, links or {})
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": f"0 0 {width} {height}",
        "class": "picture",
        "role": "group",
        "aria-label": label,
    }
    ElementTree.register_namespace("", _SVG[1:-1])
    svg = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    return SafeString(_as_xml(svg))


def _as_xml(text: str) -> str:
    """The text without characters that no XML may hold, such as those of terminals in names."""
    return _NOT_OF_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _clean(root: ElementTree.Element, links: Mapping[str, str]) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    shapes = {id(shape) for defs in root.iter(f"{_SVG}defs") for shape in defs.iter()}
    for element in root.iter():
        _spread_style(element, inherits=id(element) in shapes)
        _name(element)
        if (address := element.attrib.pop(_HREF, None)) is not None:
            element.set("href", address)
        if element.tag == f"{_SVG}a":
            element.attrib.pop("target", None)
            if words := links.get(element.get("href", "")):
                title = ElementTree.Element(f"{_SVG}title")
                title.text = words
                element.insert(0, title)
    _let_through(root)


def _let_through(root: ElementTree.Element) -> None:
    """Words that lie on a linked mark leave the click to it; Matplotlib links no words."""
    if root.find(f".//{_SVG}a") is not None:
        for text in root.iter(f"{_SVG}text"):
            text.set("pointer-events", "none")


def _spread_style(element: ElementTree.Element, *, inherits: bool) -> None:
    """Style attribute to presentation attributes; shapes for reuse take the user's paint."""
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in _KEPT and not (inherits and name in _PAINT):
            element.set(name, value)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _name(element: ElementTree.Element) -> None:
    """Classes from a dotted id; ids that nothing refers to go."""
    name = element.get("id", "")
    if name.startswith("."):
        element.set("class", name[1:].replace(".", " "))
    if name.startswith(".") or re.search(r"_\d+$", name):
        del element.attrib["id"]


@cache
def _prepare() -> None:
    """Give Matplotlib a place of its own for its font cache."""
    folder = settings.DATA_DIR / "matplotlib"
    folder.mkdir(exist_ok=True)
    os.environ.setdefault("MPLCONFIGDIR", str(folder))
