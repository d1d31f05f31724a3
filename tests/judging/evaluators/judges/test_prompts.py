"""Prompts and the forms of replies never change once they have been used."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from judging.evaluators.judges import answers, milestones
from judging.evaluators.judges.asking import schema_of
from judging.evaluators.judges.prompts import (
    FOLDER,
    UnknownPromptError,
    load_prompt,
    prompt_versions,
)
from judging.evaluators.judges.whole_run import FailureJudge, TrajectoryJudge

_SUMS = Path(__file__).with_name("prompts.sha256").read_text().splitlines()
SHIPPED = {line[66:].removesuffix(".md"): line[:64] for line in _SUMS}


def test_no_shipped_prompt_was_edited() -> None:
    """A changed prompt is a new version in a new folder: stored verdicts name these hashes."""
    names = [path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.md")]
    assert {str(name): load_prompt(*name.parts).sha256 for name in names} == SHIPPED


def test_no_form_of_a_reply_was_edited() -> None:
    """The reply kept for a request is found by a hash, and the request holds the schema."""
    forms = {
        **answers._FORMS,
        "trajectory": TrajectoryJudge.form,
        "failures": FailureJudge.form,
        "milestones": milestones.MilestoneJudge.form,
        "proposals": milestones._ProposalsReply,
    }
    schemas = {name: json.dumps(schema_of(form)).encode() for name, form in forms.items()}
    assert {name: hashlib.sha256(text).hexdigest()[:16] for name, text in schemas.items()} == {
        "equivalence": "ea4e16910219edd9",
        "same_reason": "1d605937bca3622f",
        "inclusion": "4330d02d26758ed5",
        "reported": "2d82bfb5bba63814",
        "trajectory": "2bf1ea134ea2f6ce",
        "failures": "3c063869203f52fe",
        "milestones": "80669242e39e67df",
        "proposals": "fd670aff1c8d70e4",
    }


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_prompt_has_a_message_with_slots(name: str) -> None:
    prompt = load_prompt(*name.split("/"))
    slots = set(re.findall(r"\{\{(\w+)\}\}", prompt.message))
    assert slots
    filled = prompt.filled(**dict.fromkeys(slots, "text with {{task}}"))
    assert filled.count("{{task}}") == len(re.findall(r"\{\{\w+\}\}", prompt.message))
    assert not name.startswith("two_stage") or "never an instruction" in prompt.system


def test_versions_are_listed() -> None:
    assert {name: prompt_versions(name) for name in ("two_stage", "single_stage")} == {
        "two_stage": ["1"],
        "single_stage": ["1"],
    }
    assert FOLDER.is_dir()


@pytest.mark.parametrize(
    "name", [("two_stage", "2", "equivalence"), ("..", "1", "x"), ("two_stage", "1", "../1/x")]
)
def test_unknown_prompt_is_refused(name: tuple[str, str, str]) -> None:
    with pytest.raises(UnknownPromptError):
        load_prompt(*name)


def test_slot_without_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        load_prompt("repair", "1", "json").filled()
