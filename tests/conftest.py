"""What every test may use."""

from collections.abc import Iterator

import pytest

from tests.webagent.llm.stub import LLMStub, running_stub


@pytest.fixture
def llm_stub() -> Iterator[LLMStub]:
    """A local server that speaks the protocols of OpenAI and Anthropic; see `LLMStub`."""
    with running_stub() as stub:
        yield stub
