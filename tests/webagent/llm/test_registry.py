"""The file of models: what it may say, and how a mistake in it is told."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from webagent.llm.interface import FailureKind, ModelFailure
from webagent.llm.registry import Api, Registry, RegistryError

ROOT = Path(__file__).resolve().parents[3]
GOOD = """
[models.judge]
provider = "openai"
model = "some-model"
api_key_env = "SOME_KEY"

[models.judge.prices]
input = 1.25
output = 10
"""


def write(folder: Path, text: str, name: str = "models.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_defaults_follow_the_provider(tmp_path: Path) -> None:
    text = GOOD + '[models.other]\nprovider = "anthropic"\nmodel = "m"\n'
    registry = Registry.read(write(tmp_path, text))
    judge, other = registry.entry("judge"), registry.entry("other")
    assert list(registry.entries) == ["judge", "other"]
    assert (judge.api, other.api) == (Api.RESPONSES, Api.MESSAGES)
    assert str(judge.base_url) == "https://api.openai.com/v1"
    assert str(other.base_url) == "https://api.anthropic.com/"
    assert (judge.temperature, other.temperature) == (True, False)
    assert judge.prices is not None
    assert (judge.prices.input, judge.prices.cached) == (Decimal("1.25"), None)
    assert other.prices is None


def test_json_says_the_same(tmp_path: Path) -> None:
    table = {"provider": "openai", "model": "some-model", "api_key_env": "SOME_KEY"}
    table["prices"] = {"input": 1.25, "output": 10}  # type: ignore[assignment]
    as_json = write(tmp_path, json.dumps({"models": {"judge": table}}), "models.json")
    as_toml = write(tmp_path, GOOD)
    assert Registry.read(as_json).entries == Registry.read(as_toml).entries


def test_shipped_example_is_right() -> None:
    registry = Registry.read(ROOT / "docs" / "models.example.toml")
    assert registry.entries
    assert registry.missing_keys({}) == {
        "openai-judge": "OPENAI_API_KEY",
        "anthropic-judge": "ANTHROPIC_API_KEY",
    }


def test_every_field_is_documented() -> None:
    described = (ROOT / "docs" / "models.md").read_text()
    entry = Registry.read(ROOT / "docs" / "models.example.toml").entry("own-judge")
    for field in type(entry).model_fields.keys() - {"name"}:
        assert f"`{field}`" in described


def test_empty_file_has_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelFailure, match="there is no such model") as caught:
        Registry.read(write(tmp_path, "")).entry("judge")
    assert caught.value.kind is FailureKind.NOT_CONFIGURED


def with_line(line: str) -> str:
    """The good file with a line more, or another one in place of the field's."""
    field = line.split(" ")[0]
    lines = [old for old in GOOD.splitlines() if not old.startswith(f"{field} ")]
    position = lines.index("[models.judge]") + 1
    return "\n".join([*lines[:position], line, *lines[position:]])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('provider = "mistral"', "provider: "),
        ("model = 3", "model: "),
        ('api = "messages"', "api: openai has responses and chat"),
        ('api_key = "sk-secret-secret"', "api_key: there is no such field"),
        ('api_key_env = "sk-secret-secret"', "api_key_env: "),
        ('base_url = "ftp://x"', "base_url: "),
        ("timeout_s = 0", "timeout_s: "),
        ("max_concurrency = 0", "max_concurrency: "),
        ("context_tokens = -1", "context_tokens: "),
        ('schema_mode = "tool"', "schema_mode: the API responses knows schema, object, prompt"),
        ('api_version = "2023-06-01"', "api_version: only Anthropic's"),
        ("extra = { model = 'other' }", "extra: model is set by Crosscheck itself"),
        ('ca_file = "/nowhere.pem"', "ca_file: "),
    ],
)
def test_mistake_is_told_with_file_entry_field_and_reason(
    tmp_path: Path, line: str, told: str
) -> None:
    path = write(tmp_path, with_line(line))
    with pytest.raises(RegistryError) as caught:
        Registry.read(path)
    assert f"{path}: models.judge: " in str(caught.value)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace('model = "some-model"\n', ""), "models.judge: model: is missing"),
        (GOOD.replace("1.25", "-1"), "models.judge: prices.input: "),
        (GOOD.replace("output = 10", ""), "models.judge: prices.output: is missing"),
        (GOOD + "[models.judge]\n", "cannot be read: "),
        ("models = 3", "models: must be a table"),
        ("[models]\njudge = 3", "models.judge: must be a table"),
        ("[model.judge]", "model: not known here"),
        ("nonsense", "cannot be read: "),
        (
            '[models.a]\nprovider = "anthropic"\nmodel = "m"\ntemperature = true',
            'temperature: only with api_version = "2023-06-01"',
        ),
    ],
)
def test_wrong_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RegistryError) as caught:
        Registry.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)


def test_repeated_name_in_json_is_no_silent_choice(tmp_path: Path) -> None:
    path = write(tmp_path, '{"models": {"a": {}, "a": {}}}', "models.json")
    with pytest.raises(RegistryError, match="a appears twice"):
        Registry.read(path)


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="No such file"):
        Registry.read(tmp_path / "models.toml")


def test_key_comes_from_the_environment_alone(tmp_path: Path) -> None:
    registry = Registry.read(write(tmp_path, GOOD))
    entry = registry.entry("judge")
    assert entry.key({"SOME_KEY": " sk-1 \n"}) == "sk-1"
    assert registry.missing_keys({"SOME_KEY": "sk-1"}) == {}
    assert registry.missing_keys({"SOME_KEY": " "}) == {"judge": "SOME_KEY"}
    with pytest.raises(ModelFailure, match="SOME_KEY is not set") as caught:
        entry.key({})
    assert caught.value.kind is FailureKind.NOT_CONFIGURED
