"""Commands, each as the browser's action of the same meaning, and back in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.agents.generic.action_space import ACTIONS, read_action
from webagent.agents.screen.reply import (
    KEYS,
    LONGEST_TEXT,
    Pointer,
    PressKey,
    TypeText,
    as_commands,
    browser_action,
)
from webagent.trajectory.actions import parse_browsergym_actions

PLACES = st.integers(0, 5000)
POINTERS = st.builds(
    Pointer,
    name=st.sampled_from(
        ["move", "click", "double_click", "mouse_down", "mouse_up", "scroll_up", "scroll_down"]
    ),
    x=PLACES,
    y=PLACES,
)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200
)
COMMANDS = (
    POINTERS | st.builds(PressKey, key=st.sampled_from(KEYS)) | st.builds(TypeText, text=TEXTS)
)


@pytest.mark.parametrize(
    ("command", "action", "words"),
    [
        (Pointer(name="move", x=1, y=2), "mouse_move(1, 2)", "move at (1, 2)"),
        (Pointer(name="click", x=1, y=2), "mouse_click(1, 2)", "click at (1, 2)"),
        (Pointer(name="double_click", x=1, y=2), "mouse_dblclick(1, 2)", "double_click at (1, 2)"),
        (Pointer(name="mouse_down", x=1, y=2), "mouse_down(1, 2)", "mouse_down at (1, 2)"),
        (Pointer(name="mouse_up", x=1, y=2), "mouse_up(1, 2)", "mouse_up at (1, 2)"),
        (Pointer(name="scroll_up", x=1, y=2), "scroll_at(1, 2, 0, -90)", "scroll_up at (1, 2)"),
        (Pointer(name="scroll_down", x=1, y=2), "scroll_at(1, 2, 0, 90)", "scroll_down at (1, 2)"),
        (PressKey(key="<Enter>"), "keyboard_press('Enter')", 'press_key "<Enter>"'),
        (PressKey(key="<Backspace>"), "keyboard_press('Backspace')", 'press_key "<Backspace>"'),
        (PressKey(key="C-a"), "keyboard_press('ControlOrMeta+a')", 'press_key "C-a"'),
        (PressKey(key="C-v"), "keyboard_press('ControlOrMeta+v')", 'press_key "C-v"'),
        (TypeText(text="it's"), 'keyboard_type("it\'s")', 'type_text "it\'s"'),
    ],
)
def test_each_command_has_its_action_and_is_told_in_its_own_words(command, action, words):
    assert browser_action([command], 90) == action
    assert as_commands(action) == words


@given(st.lists(COMMANDS, min_size=1, max_size=8))
def test_the_browser_is_given_the_same_commands_in_the_same_order(commands):
    calls = parse_browsergym_actions(browser_action(commands, 90))
    assert len(calls) == len(commands)
    for call, command in zip(calls, commands, strict=True):
        # What the browser's side takes, with arguments that fit.
        assert read_action(str(call.raw).strip(), ACTIONS.values()).name == call.name
        if isinstance(command, Pointer):
            assert call.args[:2] == (command.x, command.y)
        elif isinstance(command, TypeText):
            assert call.args == (command.text,)


@given(st.lists(COMMANDS, min_size=1, max_size=8))
def test_what_is_told_names_every_command(commands):
    words = as_commands(browser_action(commands, 90))
    assert all(command.name in words for command in commands)


def test_an_action_of_another_agent_is_told_as_it_is():
    assert as_commands("click('a12')\nmouse_click(3, 4)") == "click('a12'); click at (3, 4)"


@pytest.mark.parametrize("wrong", [{"x": "1"}, {"x": 1.5}, {"x": True}, {"x": None}, {"z": 1}])
def test_pixels_are_whole_numbers(wrong):
    with pytest.raises(ValueError, match="x|z"):
        Pointer.model_validate({"name": "click", "x": 1, "y": 2} | wrong)


def test_a_text_has_an_end():
    with pytest.raises(ValueError, match="text"):
        TypeText(text="a" * (LONGEST_TEXT + 1))
