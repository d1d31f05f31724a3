"""Which models agents find, and what is said when one is missing."""

from pathlib import Path

import pytest

from webagent.agents import registry as models
from webagent.agents.registry import BadAgentConfig, make_agent

FILE = """
[models.m]
provider = "openai"
model = "m-1"
context_tokens = 8000

[models.keyed]
provider = "anthropic"
model = "k-1"
api_key_env = "KEY_THAT_NOBODY_SET"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(models, "_shared", None)
    path = tmp_path / "models.toml"
    path.write_text(FILE)
    models.use_models_file(lambda: path)
    return path


def test_without_a_file_it_says_which_setting_is_missing(monkeypatch):
    monkeypatch.setattr(models, "_shared", models.ModelFile(lambda: None))
    with pytest.raises(BadAgentConfig, match=r"name the file in MODELS_FILE"):
        make_agent("generic", {"model": "m"})


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"model": "n"}, r"n: there is no such model in the file of models \(it has m, keyed\)"),
        ({"model": "keyed"}, "KEY_THAT_NOBODY_SET is not set"),
        ({"model": "m", "max_reply_tokens": 8000}, "no room for a prompt"),
        ({"model": "m", "max_cost": 1.5}, "prices"),
    ],
)
def test_what_is_missing_is_named(file, config, why):
    with pytest.raises(BadAgentConfig, match=why):
        make_agent("generic", config)


def test_agents_share_a_client_until_the_file_changes(file):
    shared = models._shared
    first = shared.client()
    assert shared.client() is first
    file.write_text(FILE + '\n[models.more]\nprovider = "openai"\nmodel = "x"\n')
    assert shared.client() is not first
    config = make_agent("generic", {"model": "more"}).describe().config or {}
    assert config["model"] == "more"


def test_a_wrong_file_is_said(file):
    file.write_text("[models.m]\nprovider = 3\n")
    with pytest.raises(BadAgentConfig, match="models.m"):
        make_agent("generic", {"model": "m"})
