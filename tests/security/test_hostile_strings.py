"""The reader that looks for markup sees it, in each of the hostile strings that are markup."""

from html import escape

import pytest

from tests.security.markup import misread
from tests.security.payloads import BREAKING_OUT, HTMX, MARKUP, PAYLOADS, TEMPLATES


@pytest.mark.parametrize("payload", PAYLOADS)
def test_escaped_it_is_text(payload: str) -> None:
    said = escape(payload)
    assert misread(f'<p title="{said}">{said}</p>') == []


@pytest.mark.parametrize(
    "payload", [one for one in (*MARKUP, *HTMX) if one[0] == "<" and one[1] not in "!?"]
)
def test_as_it_is_it_is_noticed(payload: str) -> None:
    assert misread(f"<p>{payload}</p>")


@pytest.mark.parametrize("payload", [one for one in (*BREAKING_OUT, HTMX[-1]) if one[0] in "\"'<-"])
def test_it_is_noticed_where_it_breaks_out(payload: str) -> None:
    places = ('<p title="{}">', "<p title='{}'>", "<textarea>{}", "<!-- {}", "<title>{}")
    more = ("<script src=x>{}", "<style>{}", "<p>{}")
    assert any(misread(place.replace("{}", payload)) for place in (*places, *more))


def test_a_template_that_was_evaluated_is_noticed() -> None:
    assert misread(TEMPLATES[0].replace("{{ 505*505 }}", str(505 * 505)))
