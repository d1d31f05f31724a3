from tests.webagent.pages import observation
from webagent.agents.registry import make_agent
from webagent.trajectory.actions import message_text, parse_browsergym_actions

TREE = """\
RootWebArea 'Page'
\t[1] button 'Buy'
\t[2] button 'Cancel'
\t[3] generic, clickable=True
\t\tStaticText 'More'
\t[4] textbox ''"""


def test_looping_repeats_itself_whatever_happens():
    agent = make_agent("looping", {"action": "click('1')"})
    decisions = [agent.act(observation(last_error=error)) for error in (None, "no", "no")]
    assert {decision.action for decision in decisions} == {"click('1')"}
    assert not any(decision.finished for decision in decisions)


def test_the_early_finisher_says_it_is_done_at_once():
    decision = make_agent("early_finisher", {"message": "It's done"}).act(observation())
    (action,) = parse_browsergym_actions(decision.action or "")
    assert message_text(action) == "It's done"
    assert decision.finished
    assert not make_agent("early_finisher", {"insists": True}).act(observation()).finished


def test_wrong_clicks_on_what_the_goal_does_not_name_and_then_says_it_is_done():
    seen = observation(TREE, goal='Click on the "buy" button.')
    clicked = set()
    for seed in range(20):
        agent = make_agent("wrong", {"clicks": 1, "seed": seed})
        clicked.add(agent.act(seen).action)
        last = agent.act(seen)
        assert last.finished
        assert last.action == "send_msg_to_user('Done.')"
    assert clicked == {"click('2')", "click('3')"}


def test_wrong_makes_the_same_choice_for_the_same_seed():
    seen = observation(TREE, goal="Do something.")
    first, second = (make_agent("wrong", {"clicks": 5, "seed": 4}) for _ in range(2))
    assert [first.act(seen) for _ in range(6)] == [second.act(seen) for _ in range(6)]


def test_wrong_takes_what_there_is_and_stops_where_there_is_nothing():
    all_named = observation("RootWebArea 'Page'\n\t[1] button 'Buy'", goal="buy")
    assert make_agent("wrong").act(all_named).action == "click('1')"
    assert make_agent("wrong").act(observation("RootWebArea 'Page'")).finished


def test_the_controls():
    seen = observation(TREE)
    assert make_agent("do_nothing").act(seen).action == "noop(100)"
    assert make_agent("always_na").act(seen).action == "send_msg_to_user('N/A')"
    everything = make_agent("list_everything").act(seen)
    assert everything.action == "send_msg_to_user('Buy, Cancel, More')"
    assert everything.finished


def test_the_replayer_repeats_what_it_was_given_and_stops():
    agent = make_agent("replayer", {"actions": ["click('1')", "noop()"]})
    decisions = [agent.act(observation()) for _ in range(3)]
    assert [decision.action for decision in decisions] == ["click('1')", "noop()", None]
    assert [decision.finished for decision in decisions] == [False, False, True]
