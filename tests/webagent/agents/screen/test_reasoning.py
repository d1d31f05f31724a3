"""What the rules make of goals and screens; every screen here is read as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webagent.agents.screen.made import LOGIN, item, looked, screen, showing
from webagent.agents.screen.finding import label_likeness, likeness, place_in
from webagent.agents.screen.instructions import Choose, Click, Copy, Enter, Paste, instructions_of
from webagent.agents.screen.reply import browser_action
from webagent.agents.screen.rules import ScreenScripted, Unclear, commands_for
from webagent.agents.settings import VisionSettings
from webagent.vision.screen import ScreenText

BUTTONS = ("button", "close button")
SUBMIT = item("button", "Submit", 4, 140)


def done(goal: str, seen: ScreenText) -> list[str]:
    return browser_action(commands_for(goal, seen).commands, 90).split("\n")


@pytest.mark.parametrize(
    ("goal", "wishes"),
    [
        ("Click the button.", (Click(kinds=BUTTONS, number=1),)),
        ("Click button ONE.", (Click("ONE", BUTTONS),)),
        ('Click on the "Ok" button.', (Click("Ok", BUTTONS),)),
        ("Click on Tab #2.", (Click("Tab #2", ("tab",)),)),
        ('Click on the link "elit".', (Click("elit", ("link",)),)),
        ('Click on a "textarea" widget.', (Click(kinds=("text area",)),)),
        ("Focus into the 2nd input textbox.", (Click(kinds=("text box",), number=2),)),
        ('Close the dialog box by clicking the "x".', (Click("x", ("close button",)),)),
        (
            "Click button ONE, then click button TWO.",
            (Click("ONE", BUTTONS), Click("TWO", BUTTONS)),
        ),
        (
            "Select 7x, then, QqY and click Submit.",
            (Choose(("7x", "then", "QqY")), Click("Submit", ("button",))),
        ),
        ("Select nothing and click Submit.", (Click("Submit", ("button",)),)),
        (
            'Type "ADA" in all lower case letters in the text input and press Submit.',
            (Enter("ada"), Click("Submit", ("button",))),
        ),
        (
            'Enter the password "and press" into both text fields and press submit.',
            (Enter("and press", "password", every=True), Click("submit", ("button",))),
        ),
        (
            'Enter the username "x" and the password "y" into the text fields and press login.',
            (Enter("x", "username"), Enter("y", "password"), Click("login", ("button",))),
        ),
        (
            "Copy the text from the 2nd text area below and paste it into the text input, then"
            " press Submit.",
            (Copy(2), Paste(), Click("Submit", ("button",))),
        ),
        (
            "Enter the value of Year of Birth into the text field and press Submit.",
            (Enter(looked_up="Year of Birth"), Click("Submit", ("button",))),
        ),
        ("Ponder the meaning of the page.", ()),
    ],
)
def test_what_a_goal_wishes(goal, wishes):
    assert instructions_of(goal) == wishes


@given(st.text(max_size=300))
def test_any_goal_is_read(goal):
    instructions_of(goal)


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_is_a_share_and_the_same_text_is_the_likest(one, other):
    assert 0 <= likeness(one, other) <= likeness(one, one) <= 1


@pytest.mark.parametrize(("wanted", "read"), [("Ok", "OK"), ("I0l", "lO1"), ("odio", "0dio")])
def test_letters_that_look_alike_are_taken_for_one_another(wanted, read):
    assert likeness(wanted, read) > 0.9
    assert likeness(wanted, read) < likeness(wanted, wanted)


def test_a_circle_read_as_a_letter_is_no_part_of_a_label():
    assert label_likeness("fNc", "O fNc") == label_likeness("fNc", "OfNc") == 1
    assert place_in("nunc", "Odio nunc et") == pytest.approx((5 / 12, 9 / 12))


def test_the_button_of_that_case_is_clicked_on():
    seen = screen(
        item("button", "ok", 0, 0), item("button", "Ok", 80, 0), item("text", "Ok", 0, 40)
    )
    assert done('Click on the "Ok" button.', seen) == ["mouse_click(110, 8)"]


def test_the_only_button_is_the_one_to_press_whatever_it_says():
    seen = screen(item("text box", "", 4, 20), item("button", "Go", 4, 60))
    goal = 'Enter "ada" into the text field and press Submit.'
    assert done(goal, seen)[-1] == "mouse_click(34, 68)"
    with pytest.raises(Unclear):
        commands_for('Click on the "Submit" button.', seen)


def test_a_link_within_a_line_of_text_is_found_by_its_place():
    seen = screen(item("text", "Odio nunc et", 0, 20, 120))
    assert done('Click on the link "nunc".', seen) == ["mouse_click(70, 28)"]


@pytest.mark.parametrize(
    "cross",
    [
        item("close button", "", 100, 0, 20),
        item("text", "x", 100, 0, 20),
        item("icon", "", 100, 0, 20),
    ],
)
def test_a_dialog_is_closed_by_its_cross_however_it_was_read(cross):
    seen = screen(item("button", "OK", 20, 60), cross, item("text", "Next to fix", 0, 30))
    assert done('Close the dialog box by clicking the "x".', seen) == ["mouse_click(110, 8)"]


def test_what_stands_beside_the_names_is_turned_on_once():
    seen = screen(
        item("checkbox", "", 4, 20, 12, 12),
        item("text", "fNc", 20, 20),
        item("checked checkbox", "", 4, 40, 12, 12),
        item("text", "Qq", 20, 40),
        item("checkbox", "", 4, 60, 12, 12),
        item("text", "O fN", 20, 60),
        SUBMIT,
    )
    clicks = done("Select fN, Qq, fNc and click Submit.", seen)
    assert clicks == ["mouse_click(10, 66)", "mouse_click(10, 26)", "mouse_click(34, 148)"]
    assert done("Select nothing and click Submit.", seen) == ["mouse_click(34, 148)"]


def test_a_label_whose_box_was_not_seen_is_clicked_on_itself():
    seen = screen(item("text", "fNc", 20, 20), SUBMIT)
    assert done("Select fNc and click Submit.", seen)[0] == "mouse_click(50, 28)"


def test_a_label_that_was_taken_for_a_row_of_a_list_is_still_one():
    seen = screen(
        item("checkbox", "", 10, 24, 30, 20), item("list item", "Ycj0QW", 7, 19, 230, 40), SUBMIT
    )
    assert done("Select Ycj0QW and click Submit.", seen)[0] == "mouse_click(25, 34)"


def test_fields_are_filled_by_their_labels():
    goal = 'Enter the password "y" and the username "x" into the text fields and press login.'
    assert done(goal, LOGIN) == [
        "mouse_click(64, 98)",
        "keyboard_type('y')",
        "mouse_click(64, 48)",
        "keyboard_type('x')",
        "mouse_click(34, 128)",
    ]


def test_without_labels_they_are_filled_from_the_top_and_what_is_in_them_goes():
    seen = screen(item("text box", "old", 4, 20), item("text box", "", 4, 60), SUBMIT)
    goal = 'Enter the password "y" into both text fields and press submit.'
    assert done(goal, seen) == [
        "mouse_click(34, 28)",
        "keyboard_press('ControlOrMeta+a')",
        "keyboard_type('y')",
        "mouse_click(34, 68)",
        "keyboard_type('y')",
        "mouse_click(34, 148)",
    ]


def test_a_value_is_looked_up_in_its_row_or_behind_its_label():
    rows = item("text", "Gender Male", 0, 0), item("text", "Country", 0, 20)
    seen = screen(*rows, item("text", "Peru", 90, 21), item("text box", "", 4, 60), SUBMIT)
    for label, value in (("Gender", "Male"), ("Country", "Peru")):
        goal = f"Enter the value of {label} into the text field and press Submit."
        assert done(goal, seen)[1] == f"keyboard_type('{value}')"


def test_a_date_goes_into_its_field_from_the_left():
    seen = screen(item("text box", "mm/dd/yyyy", 4, 20, 120), SUBMIT)
    goal = "Enter 7/15/2016 as the date and hit submit."
    assert done(goal, seen)[:2] == ["mouse_click(12, 28)", "keyboard_type('07152016')"]


def test_copied_by_keys():
    seen = screen(
        item("text area", "one", 4, 0),
        item("text area", "two", 4, 40),
        item("text box", "", 4, 80),
        SUBMIT,
    )
    goal = "Copy the text from the 2nd text area below and paste it into the text input."
    assert done(goal, seen) == [
        "mouse_click(34, 48)",
        "keyboard_press('ControlOrMeta+a')",
        "keyboard_press('ControlOrMeta+c')",
        "mouse_click(34, 88)",
        "keyboard_press('ControlOrMeta+v')",
    ]


@pytest.mark.parametrize(
    "goal", ['Click on the "Ok" button.', "Sing.", 'Enter "x" into the field.']
)
def test_what_is_not_there_is_not_guessed(goal):
    with pytest.raises(Unclear):
        commands_for(goal, screen(item("text", "Nothing of that kind", 0, 0)))


def acting(*screens: ScreenText) -> ScreenScripted:
    return ScreenScripted(VisionSettings(), showing(*screens))


def test_what_comes_up_later_is_done_later():
    closed = screen(item("section header", "Section #1", 0, 20))
    agent = acting(closed, screen(item("section header", "Section #1", 0, 20), SUBMIT))
    seen = looked("Expand the section below and click submit.")
    decisions = [agent.act(seen) for _ in range(3)]
    assert [each.action for each in decisions] == [
        "mouse_click(30, 28)",
        "mouse_click(34, 148)",
        None,
    ]
    assert decisions[-1].gave_up
    assert decisions[0].screen is not None


def test_what_may_stand_behind_a_tab_is_looked_for_there():
    tabs = item("tab", "Tab #1", 0, 0), item("tab", "Tab #2", 70, 0)
    agent = acting(screen(*tabs), screen(*tabs), screen(*tabs, item("link", "elit", 0, 40)))
    seen = looked('Switch between the tabs to find and click on the link "elit".')
    assert [agent.act(seen).action for _ in range(3)] == [
        "mouse_click(30, 8)",
        "mouse_click(100, 8)",
        "mouse_click(30, 48)",
    ]
