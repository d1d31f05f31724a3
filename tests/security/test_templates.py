"""No template and no code calls text safe that was not made so, whatever page it stands on."""

from __future__ import annotations

import re
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
    "runs/pictures.py": "a drawing put together by a writer of XML",
    "judging/markdown.py": "nh3 has just cleaned it",
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


def test_code_calls_nothing_safe_but_in_two_places() -> None:
    apps = ("runs", "judging", "webagent")
    files = [path for app in apps for path in (ROOT / app).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in files if CALLS_SAFE.search(path.read_text())}
    assert found == MAY_CALL_SAFE.keys()


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
