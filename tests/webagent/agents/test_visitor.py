"""The visitor does as it is told where the page has it, and as the goal's words say elsewhere."""

from tests.webagent.pages import observation
from webagent.agents.agent import Advisable
from webagent.agents.errands.people import Visitor
from webagent.agents.registry import make_agent
from webagent.trajectory.live import Taken

GOAL = "Start a thread on the board Lost and found with the title Bell that says it is red."
HOME = """\
RootWebArea 'Talk'
\t[1] link 'Garden'
\t[2] link 'Lost and found'"""
BOARD = """\
RootWebArea 'Talk'
\t[2] link 'Lost and found'
\t[3] link 'Grey mitten'
\t[4] textbox 'Title'
\t[5] textbox 'Text'
\t[6] textbox 'Your answer'
\t[7] button 'Start thread'"""
PAGES = (HOME, BOARD, BOARD, BOARD, BOARD)
DONE = "send_msg_to_user('It is done.')"


def actions(agent: Visitor, goal: str = GOAL, pages: tuple[str, ...] = PAGES) -> list[str | None]:
    """What it does on these pages, one after the other, until it is done."""
    made: list[str | None] = []
    for page in pages:
        decision = agent.act(observation(page, goal=goal))
        made.append(decision.action)
        if decision.finished:
            break
    return made


def told(*tips: str) -> Visitor:
    agent = Visitor()
    agent.advise("\n".join(f"{number}. {tip}" for number, tip in enumerate(tips, start=1)))
    return agent


WORDS = ["click('2')", "fill('4', 'Bell')", "fill('5', 'it is red')"]


def test_left_to_itself_it_goes_by_words_and_forgets_to_send_the_form() -> None:
    assert actions(Visitor()) == [*WORDS, DONE]


def test_an_insight_about_forms_has_it_send_this_one() -> None:
    insight = "A form counts only once its button was pressed."
    assert actions(told("Look at the whole page.", insight)) == [*WORDS, "click('7')", DONE]


def test_it_believes_what_it_is_told_and_then_stops() -> None:
    assert actions(told('Click "Garden".', 'Click "Grey mitten".')) == [
        "click('1')",
        "click('3')",
        DONE,
    ]


def test_a_tip_without_a_name_is_filled_in_from_the_goal() -> None:
    fitting = told("Click the control that fits.", "Type into the field that fits.")
    assert actions(fitting) == ["click('2')", "fill('4', 'Bell')", DONE]


def test_it_goes_its_own_way_from_a_tip_that_the_page_has_not() -> None:
    assert actions(told('Click "My orders".', 'Click "Garden".')) == [*WORDS, DONE]
    no_answer = told('Click "Lost and found".', 'Type into "Your answer".')
    assert actions(no_answer) == [*WORDS, DONE]


def test_it_chooses_the_option_that_the_goal_names() -> None:
    page = """\
RootWebArea 'Map'
\t[1] combobox 'How'
\t\t[2] option 'On foot'
\t\t[3] option 'By bicycle'"""
    agent = told('Select in "How".')
    assert actions(agent, "Go by bicycle.", (page,)) == ["select_option('1', 'By bicycle')"]


def test_nothing_to_go_by_is_the_end() -> None:
    assert actions(Visitor(), "Cancel it.") == [DONE]


def test_it_remembers_by_seeing_again() -> None:
    agent, other = told('Click "Lost and found".', 'Type into "Title".'), told()
    seen = observation(HOME, goal=GOAL)
    steps = [
        Taken(before=seen, decision=agent.act(seen), by="visitor"),
        Taken(before=seen, decision=other.act(seen), by="stuck"),
    ]
    agent.act(observation(BOARD, goal=GOAL))
    agent.resume_from(steps)
    assert agent.act(observation(BOARD, goal=GOAL)).action == "fill('4', 'Bell')"


def test_its_configuration_names_hints_only_where_it_has_them() -> None:
    assert make_agent("visitor").describe().config == {}
    hinted = make_agent("visitor", {"hints": "concrete.same_task.1"})
    assert hinted.describe().config == {"hints": "concrete.same_task.1"}
    assert isinstance(hinted, Advisable)
