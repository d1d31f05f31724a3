"""The documented workflow is one that would run."""

import re
import shlex
from pathlib import Path

import yaml
from django.core.management import load_command_class

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "regression_gate.md"
EXPRESSION = re.compile(r"\$\{\{[^}]*\}\}")


def test_workflow_parses_and_calls_commands_as_they_are() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    workflow = yaml.safe_load(text)
    # YAML 1.1 reads the key `on` as true.
    assert {"name", True, "jobs"} <= workflow.keys()
    [job] = workflow["jobs"].values()
    assert all("uses" in step or "run" in step for step in job["steps"])
    called = [_parsed(step["run"]) for step in job["steps"] if "run" in step]
    (launch, given), (gate, asked) = called
    assert (launch, gate) == ("run_experiment", "regression_gate")
    assert asked["candidate"] == given["name"]
    assert asked["metric"] == "success"
    assert (asked["max_drop"], asked["strict"]) == (0.05, False)
    kept = next(step["with"] for step in job["steps"] if "with" in step)
    assert kept["path"] == str(asked["out"])


def _parsed(command: str) -> tuple[str, dict[str, object]]:
    _python, _manage, name, *arguments = shlex.split(EXPRESSION.sub("17", command))
    parser = load_command_class("judging.analysis" if "gate" in name else "runs.launching", name)
    return name, vars(parser.create_parser("manage.py", name).parse_args(arguments))
