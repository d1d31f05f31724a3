"""What every test may use."""

import gc
import os
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.utils import translation
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests.webagent.llm.stub import LLMStub, running_stub
from tests.webagent.llm.stub_models import ENVIRONMENT, stub_registry
from tests.windowless import windowless
from webagent.llm.client import Client, RetryLimits
from webagent.process.children import in_one_chunk

# Imports and collected tests stay: see `pytest_collection_finish`.
gc.disable()

# The same examples every time, and no deadline: how long one takes tells of the machine.
settings.register_profile("suite", settings.get_profile("ci"), max_examples=50)
settings.register_profile("quick", settings.get_profile("suite"), max_examples=10)
settings.load_profile("suite")

# Which database tests meet, and how it is made; what tests that break the system found; sites
# with workers.
pytest_plugins = (
    "tests.database_use",
    "tests.migrated",
    "tests.faults.plugin",
    "tests.runs.live_workers",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Each process makes a data directory of its own; this one runs no test."""
    os.environ.pop("DATA_DIR", None)


def pytest_collection_finish() -> None:
    """What is imported by now stays: garbage collection need not look through it again.

    It looks less often through the rest, too: tests leave little behind, and memory is plenty.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    # Imports and supervisors freeze and thaw, and collect in between: all of it, every time.
    gc.unfreeze = lambda: None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first: of two processes none works on while the other has ended."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    # As the web server and commands work. No hook is called around a test: its item's methods are.
    for item in items:
        item.setup = in_one_chunk(item.setup)  # type: ignore[method-assign]  # of this item alone
        item.runtest = in_one_chunk(item.runtest)  # type: ignore[method-assign]


def pytest_runtest_setup() -> None:
    """The language that a page was last read in stays with the thread, beyond its test."""
    translation.deactivate()


@pytest.fixture(scope="module")
def kept_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Whatever the module's own fixtures write is there for all its tests, and goes with the last.

    What a test changes of it is undone after that test.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For static pages of our own: what waits for others after each action waits no longer.

    Not for agents at work: on a busy machine they would look at pages that have not changed yet.
    """
    from webagent.environment import browsergym_environment, network

    defaults = browsergym_environment.BrowserGymEnvironment.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "delay_s", 0.02)
    monkeypatch.setattr(network, "SETTLE_MS", 20)


@pytest.fixture
def without_windows() -> Iterator[None]:
    """For tests to whom any Chromium will do."""
    with windowless():
        yield


@pytest.fixture
def llm_stub() -> Iterator[LLMStub]:
    """A local server that speaks the protocols of OpenAI and Anthropic; see `LLMStub`."""
    with running_stub() as stub:
        yield stub


@pytest.fixture
def llm_client(llm_stub: LLMStub) -> Iterator[Client]:
    """A client whose models (`stub_models.NAMES`) are the stub; it tries twice, without waiting."""
    patience = RetryLimits(max_tries=2, first_delay_s=0.0)
    with Client(stub_registry(llm_stub), environment=ENVIRONMENT, patience=patience) as client:
        yield client
