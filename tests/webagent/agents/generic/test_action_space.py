"""The actions a model may choose from are those that the browser's side executes."""

import inspect
import types
import typing

import pytest
from browsergym.core.action.highlevel import ACTION_SUBSETS
from hypothesis import given
from hypothesis import strategies as st

from webagent.agents.generic.action_space import (
    ACTIONS,
    GROUPS,
    BadAction,
    Kind,
    chosen_actions,
    read_action,
)
from webagent.agents.generic.request import load_wording, wording_versions
from webagent.agents.settings import BENCHMARK_ACTIONS
from webagent.environment.browsergym_session import REFUSED_ACTIONS, action_set

ALL = chosen_actions(GROUPS)


@pytest.mark.slow
def test_the_actions_are_those_that_are_executed():
    executed = action_set().action_set
    assert set(ACTIONS) == set(executed)
    functions = {each.__name__: each for subset in ACTION_SUBSETS.values() for each in subset}
    functions["noop"] = (
        functions.get("noop")
        or __import__("browsergym.core.action.functions", fromlist=["noop"]).noop
    )
    for name, action in ACTIONS.items():
        theirs = inspect.signature(functions[name]).parameters
        assert [each.name for each in action.parameters] == list(theirs), name
        hints = typing.get_type_hints(functions[name])
        for ours in action.parameters:
            given_default = theirs[ours.name].default
            default = None if given_default is inspect.Parameter.empty else repr(given_default)
            assert ours.default == (default and default.replace(".0", "")), name
            assert _kind(hints[ours.name]) == (Kind.TEXT if ours.kind is Kind.BID else ours.kind), (
                name,
                ours.name,
            )


def _kind(hint: object) -> Kind:
    plain = {str: Kind.TEXT, float: Kind.NUMBER, int: Kind.INTEGER, bool: Kind.FLAG}
    if isinstance(hint, type) and hint in plain:
        return plain[hint]
    if isinstance(hint, types.UnionType):
        return Kind.TEXTS
    return Kind.BUTTON if typing.get_origin(hint) is typing.Literal else Kind.MODIFIERS


def test_groups_are_browsergyms_subsets():
    refused = {each.__name__ for each in REFUSED_ACTIONS}
    for group in GROUPS:
        theirs = {each.__name__ for each in ACTION_SUBSETS[group]} - refused
        assert {each.name for each in ACTIONS.values() if each.group == group} == theirs


@pytest.mark.parametrize("benchmark", ["webarena", "visualwebarena"])
def test_a_benchmark_has_its_published_actions(benchmark):
    refused = {each.__name__ for each in REFUSED_ACTIONS}
    theirs = {each.__name__ for each in ACTION_SUBSETS[benchmark]} - refused
    ours = {each.name for each in chosen_actions(BENCHMARK_ACTIONS[benchmark])}
    assert ours - {"noop"} == theirs


@pytest.mark.parametrize("version", wording_versions())
def test_every_action_is_described_and_every_example_is_one(version):
    words = load_wording(version).words
    assert set(words.actions) == set(ACTIONS)
    for example in words.example:
        read_action(example.action, ALL)
        assert bool(example.page) != bool(example.picture)
    assert sum(bool(example.page) for example in words.example) >= 5
    assert sum(bool(example.picture) for example in words.example) >= 5


@pytest.mark.parametrize(
    "text",
    [
        "click('12')",
        'click("12", button="right", modifiers=["Shift"])',
        "fill('a3', 'it\\'s (fine), \"really\"')",
        "fill(bid='a3', value='x\\ny', enable_autocomplete_menu=True)",
        "select_option('4', ['a', 'b'])",
        "mouse_click(10, 20.5)",
        "noop()",
        "go_back()",
        "send_msg_to_user('click(1) is done')",
    ],
)
def test_good_actions_are_read(text):
    assert read_action(text, ALL).raw == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no action"),
        ("I click on it", "not a call"),
        ("clik('12')", "'clik' is not one of your actions"),
        ("upload_file('12', '/etc/passwd')", "not one of your actions"),
        ("click('1')\nclick('2')", "2 actions"),
        ("click('1'); click('2')", "2 actions"),
        ("click('1') and then wait", "nothing else"),
        ("please click('1')", "not a call"),
        ("page.click('1')", "not a call"),
        ("__import__('os').system('id')", "2 actions"),
        ("click(open('/etc/passwd'))", "not a"),
        ("click()", "'bid' is missing"),
        ("click(12)", "'bid' of click must be a bid in quotes"),
        ("click('1', 'left', [], 4)", "too many"),
        ("click('1', bid='2')", "cannot take 'bid'"),
        ("click('1', where='2')", "cannot take 'where'"),
        ("click('1', button='double')", "'button'"),
        ("click('1', modifiers='Shift')", "'modifiers'"),
        ("mouse_click('1', 2)", "'x' of mouse_click must be a number"),
        ("mouse_click(True, 2)", "'x'"),
        ("tab_focus(1.5)", "a whole number"),
        ("select_option('4', ['a', 1])", "'options'"),
        ("fill('1', 'x', 'yes')", "True or False"),
        ("click('99')", "no element with the bid '99'"),
        ("drag_and_drop('1', '99')", "no element with the bid '99'"),
    ],
)
def test_bad_actions_are_refused_with_a_reason(text, why):
    with pytest.raises(BadAction, match=why.replace("(", r"\(")):
        read_action(text, ALL, {"1", "4", "12"})


def test_what_is_not_allowed_is_no_action():
    with pytest.raises(BadAction, match="not one of your actions, which are: noop, goto"):
        read_action("click('1')", chosen_actions(["goto"]))


def test_an_unknown_group_is_refused():
    with pytest.raises(ValueError, match="'mouse'"):
        chosen_actions(["mouse"])


@given(st.text(max_size=200))
def test_any_text_is_an_action_or_refused(text):
    try:
        call = read_action(text, ALL)
    except BadAction:
        return
    assert call.name in ACTIONS
