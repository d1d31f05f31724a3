"""Figures as SVG that a strict content security policy lets stand in a page."""

from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

from runs.interface.pictures import as_picture, drawing

HOSTILE = "</text><script>alert('1')</script> & \"日本\""


def picture(words: str = "name", url: str = "/runs/?a=1&b=2") -> str:
    with drawing(200, 100) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.plot([0, 1], [0, 1], color="#123456", gid=".whisker.fn")
        axes.plot([0.5], [0.5], marker="o", ls="", color="#123456", url=url, gid=".point.fn")
        axes.text(0, 0, words, gid=".name")
        return as_picture(figure, f"A picture of {words}", {url: f"to {words}"})


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314, drawn a moment ago


def test_style_goes_into_attributes_and_names_into_classes() -> None:
    svg = picture()
    assert "style" not in svg
    assert 'class="whisker fn"' in svg
    assert 'stroke="#123456"' in svg
    root = parsed(svg)
    assert root.attrib["viewBox"] == "0 0 200 100"
    assert root.attrib["aria-label"] == "A picture of name"


def test_what_no_xml_may_hold_is_replaced() -> None:
    root = parsed(picture("red \x1b[31m\x00\uffff", "/b"))
    assert root.attrib["aria-label"] == "A picture of red \ufffd[31m\ufffd\ufffd"


def test_words_and_addresses_from_outside_stay_words_and_addresses() -> None:
    svg = picture(HOSTILE, '/x?y="><script>')
    root = parsed(svg)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "script" not in names
    texts = [element.text for element in root.iter() if element.tag.endswith("}text")]
    assert texts == [HOSTILE]
    [link] = [element for element in root.iter() if element.tag.endswith("}a")]
    assert link.attrib == {"href": '/x?y="><script>'}
    assert link[0].text == f"to {HOSTILE}"


def test_words_on_a_linked_mark_leave_the_click_to_it() -> None:
    [words] = [element for element in parsed(picture()).iter() if element.tag.endswith("}text")]
    assert words.attrib["pointer-events"] == "none"


def test_shapes_take_the_paint_of_their_user() -> None:
    root = parsed(picture())
    shapes = [path for defs in root.iter() if defs.tag.endswith("}defs") for path in defs]
    assert shapes
    assert all("fill" not in shape.attrib and "stroke" not in shape.attrib for shape in shapes)


def test_threads_draw_the_same_as_one_alone() -> None:
    alone = picture()
    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(lambda _: picture(), range(12))} == {alone}
