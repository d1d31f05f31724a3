"""What every test may use."""

import gc
from collections.abc import Iterator

import pytest
from django.utils import translation
from hypothesis import settings

from tests.database_use import uses_database
from tests.webagent.llm.stub import LLMStub, running_stub
from tests.webagent.llm.stub_models import ENVIRONMENT, stub_registry
from webagent.llm.client import Client, Patience

# The same examples every time, and no deadline: how long one takes tells of the machine.
settings.register_profile("suite", settings.get_profile("ci"), max_examples=50)
settings.load_profile("suite")

# What breaks the system on purpose is written down.
pytest_plugins = ("tests.faults.plugin",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=("with", "without"),
        help="run only the tests that use the database, or only the others",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("database")
    if wanted is None:
        return
    others = [item for item in items if uses_database(item) is not (wanted == "with")]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if uses_database(item) is (wanted == "with")]


def pytest_collection_finish() -> None:
    """What is imported by now stays: garbage collection need not look through it again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """The language that a page was last read in stays with the thread, beyond its test."""
    translation.deactivate()


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
