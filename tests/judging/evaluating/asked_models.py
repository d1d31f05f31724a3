"""A language model for tests: a file of models that points at the local stub, and its replies."""

import json
from pathlib import Path

from tests.webagent.llm.protocols import Asked

PRICES = "prices = {input = 1.0, output = 2.0}"


def models_file(folder: Path, url: str, *, at_a_time: int = 4, prices: str = PRICES) -> Path:
    """A file with one model, `stub-judge`, that speaks OpenAI's protocol at this address."""
    path = folder / "models.toml"
    path.write_text(
        f"""[models.stub-judge]
provider = "openai"
api = "chat"
model = "stub-1"
base_url = "{url}"
max_concurrency = {at_a_time}
{prices}
"""
    )
    return path


def judge_says(verdict: bool) -> str:
    """A reply of the first stage."""
    return json.dumps(
        {
            "rationale": "It says so." if verdict else "It does not.",
            "steering": False,
            "control": "",
            "verdict": "equivalent" if verdict else "not_equivalent",
        }
    )


def always(verdict: bool):
    """A judge of one mind: stage 1 says so, and stage 2, with one item, says the same."""

    def reply(asked: Asked) -> str:
        if "items" not in json.dumps(asked.schema):
            return judge_says(verdict)
        return json.dumps(
            {
                "rationale": "As before.",
                "items": [{"number": 1, "included": verdict}],
                "contradicted": False,
                "steering": False,
                "control": "",
                "verdict": "included" if verdict else "not_included",
            }
        )

    return reply
