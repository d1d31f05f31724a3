"""What every test may use."""

from collections.abc import Iterator

import pytest

from tests.webagent.llm.stub import LLMStub, running_stub
from tests.webagent.llm.stub_models import ENVIRONMENT, stub_registry
from webagent.llm.client import Client, Patience


@pytest.fixture
def llm_stub() -> Iterator[LLMStub]:
    """A local server that speaks the protocols of OpenAI and Anthropic; see `LLMStub`."""
    with running_stub() as stub:
        yield stub


@pytest.fixture
def llm_client(llm_stub: LLMStub) -> Iterator[Client]:
    """A client whose models (`stub_models.NAMES`) are the stub; it tries twice, without waiting."""
    patience = Patience(max_tries=2, first_delay_s=0.0)
    with Client(stub_registry(llm_stub), environment=ENVIRONMENT, patience=patience) as client:
        yield client
