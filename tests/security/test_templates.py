"""No template and no code calls text safe that was not made so, whatever page it stands on.

Nor does any code read XML of strangers, or any page let htmx do more than it must.
"""

import json
import re
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARELESS = {
    "a filter that stops escaping": r"\|\s*safe(seq)?\b",
    "a block that stops escaping": r"\{%\s*(autoescape|filter)\b",
    "a value without quotes around it": r"\s[a-z][a-z:-]*=\{[{%]",
    "a script that stands in the page": r"<script(?![^>]*(\ssrc=|application/json))",
    "an attribute that is a script or a style": r"<[^<>]*\s(on[a-z]+|hx-on[\w:-]*|style)\s*=",
}
CALLS_SAFE = re.compile(r"\b(SafeString|SafeText|mark_safe|SafeData)\(")
MAY_CALL_SAFE = {
    "runs/interface/pictures.py": "a drawing put together by a writer of XML",
    "runs/interface/table_rows.py": "rows put together of parts that are escaped",
    "runs/interface/form_inputs.py": "a tag put together of parts that are escaped",
    "judging/studies/protocols.py": "nh3 has just cleaned it",
}
READS_XML = re.compile(
    r"\b(lxml|minidom|pulldom|expat|expatreader|xmlrpc|defusedxml)\b|\bxml\.sax\b"
    r"|\b(fromstring|fromstringlist|iterparse|XMLParser|XMLPullParser|XMLID)\b|\bElementTree\.(parse|XML)\b"
)
MAY_READ_XML = {"runs/interface/pictures.py": "a drawing that it has written itself"}
HTMX = {
    # No text of a page is run, no request goes to another server, no style stands in the page,
    # and no page of one person lies in the browser for the next.
    "allowEval": False,
    "selfRequestsOnly": True,
    "includeIndicatorStyles": False,
    "historyCacheSize": 0,
}


def careless(template: str) -> list[str]:
    return [what for what, words in CARELESS.items() if re.search(words, template)]


def test_templates_leave_escaping_on() -> None:
    found = {
        str(path.relative_to(ROOT)): what
        for path in [*(ROOT / "templates").rglob("*.*")]
        if (what := careless(path.read_text()))
    }
    assert found == {}


def test_code_calls_nothing_safe_but_in_four_places() -> None:
    apps = ("runs", "judging", "webagent")
    files = [path for app in apps for path in (ROOT / app).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in files if CALLS_SAFE.search(path.read_text())}
    assert found == MAY_CALL_SAFE.keys()


def test_no_code_reads_xml_of_strangers() -> None:
    apps = ("runs", "judging", "webagent")
    files = [path for app in apps for path in (ROOT / app).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in files if READS_XML.search(path.read_text())}
    assert found == MAY_READ_XML.keys()


def test_htmx_is_told_to_do_no_more_than_it_must() -> None:
    pages = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    [page] = [text for text in pages if "htmx_script" in text or "htmx.min" in text]
    [config] = re.findall(r"name=\"htmx-config\"\s+content='([^']*)'", page)
    assert json.loads(unescape(config)).items() >= HTMX.items()


@pytest.mark.parametrize(
    "template",
    [
        "<td>{{ run.goal|safe }}</td>",
        "{% autoescape off %}{{ run.goal }}{% endautoescape %}",
        "<a href={{ run.start_url }}>",
        "<script>let goal = '{{ run.goal }}'</script>",
        '<b onclick="go()">',
        '<b style="width: {{ share }}%">',
    ],
)
def test_carelessness_is_noticed(template: str) -> None:
    assert careless(template)
