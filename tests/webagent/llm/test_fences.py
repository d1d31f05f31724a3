"""What stands inside a reply's code fence."""

import pytest

from webagent.llm.untrusted import without_fence


@pytest.mark.parametrize(
    ("reply", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("```\nclick('a1')\n```", "click('a1')"),
        ("```click('a1')\nnoop()```", "click('a1')\nnoop()"),
        ("```noop()```", "noop()"),
        ("  plain ", "plain"),
        ("```json\n{}", "```json\n{}"),
        ("`````", "`````"),
        ("``````", ""),
        ("```application/json\n{}\n```", "{}"),
    ],
)
def test_without_fence(reply, inside):
    assert without_fence(reply) == inside
