import pytest

from webagent.agents.registry import (
    AgentKind,
    BadAgentConfig,
    ModelFile,
    UnknownAgent,
    agent_kinds,
    make_agent,
    register_agent,
)
from webagent.agents.scripted import DoNothing, Oracle
from webagent.trajectory.records import Json

CONFIGS: dict[str, Json] = {
    "replayer": {"actions": ["noop()"]},
    "generic": {"model": "m"},
    "screen": {"model": "m"},
}


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    """A file of models with one, `m`."""
    file = tmp_path / "models.toml"
    file.write_text('[models.m]\nprovider = "openai"\nmodel = "m-1"\n')
    monkeypatch.setattr("webagent.agents.registry._shared", ModelFile(lambda: file))


@pytest.mark.parametrize("kind", agent_kinds(), ids=lambda kind: kind.name)
def test_what_an_agent_tells_makes_it_again(kind):
    told = make_agent(kind.name, CONFIGS.get(kind.name)).describe()
    assert told.name == kind.name
    assert kind.summary
    assert make_agent(told.name, told.config).describe() == told


def test_each_run_gets_an_agent_of_its_own():
    assert make_agent("oracle") is not make_agent("oracle")
    assert isinstance(make_agent("oracle"), Oracle)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownAgent, match="'oracel'.*oracle"):
        make_agent("oracel")


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("oracle", {"speed": 3}),
        ("looping", {"speed": 3}),
        ("looping", {"action": ["click('1')"]}),
        ("wrong", {"clicks": "many"}),
        ("replayer", {}),
        ("replayer", {"actions": [1, 2]}),
        ("generic", {}),
        ("generic", {"model": "m", "examples": 2}),
        ("screen", {}),
        ("screen", {"model": "m", "examples": "no-such-file"}),
        ("screen", {"model": "m", "observation": "axtree"}),
        ("screen", {"model": "m", "prompts": "../1"}),
        ("screen-scripted", {"ocr": "guessing"}),
        ("screen-scripted", {"read": "anything"}),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(name, config):
    with pytest.raises(BadAgentConfig, match=name):
        make_agent(name, config)


def test_another_agent_can_be_registered(monkeypatch):
    monkeypatch.setattr("webagent.agents.registry._KINDS", {})
    register_agent(AgentKind("idle", "Idles.", DoNothing))
    assert [kind.name for kind in agent_kinds()] == ["idle"]
    assert isinstance(make_agent("idle"), DoNothing)
