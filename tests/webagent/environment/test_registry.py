import sys
from types import ModuleType

import pytest

from webagent.environment import registry
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import (
    ends_at_first_message,
    make_environment,
    register_suite,
    suites,
    task_names,
    task_record,
)
from webagent.trajectory.faults import Fault


def test_miniwob_is_here_with_all_its_tasks():
    assert "miniwob" in suites()
    assert len(task_names("miniwob")) >= 120
    assert "miniwob.click-test" in task_names("miniwob")


def test_a_task_is_described_before_it_runs():
    task = task_record("miniwob.click-test")
    assert task.id == task.external_id == "miniwob.click-test"
    assert task.task_set.name == "miniwob"
    assert task.start_urls == ("http://miniwob.localhost/miniwob/click-test.html",)


def test_a_suite_tells_whether_a_message_ends_its_tasks():
    assert ends_at_first_message("larkfield.dvd-late-fee")
    assert not ends_at_first_message("miniwob.click-test")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("miniwob.clik-test", "Did you mean .*miniwob.click-test"),
        ("weblinx.3", "weblinx-browsergym.*miniwob"),
        ("nonsense", "No suite provides 'nonsense'.*miniwob"),
        ("", "No suite provides"),
        (".click-test", "No suite provides"),
    ],
)
def test_an_unknown_task_says_what_is_missing(name, says):
    with pytest.raises(UnknownTask, match=says) as caught:
        make_environment(name)
    assert caught.value.fault is Fault.TASK_UNAVAILABLE
    assert not caught.value.retriable


def test_another_suite_can_be_registered(monkeypatch):
    module = ModuleType("a_suite")
    module.task_names = lambda: ("mine.one",)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_suite", module)
    monkeypatch.setattr(registry, "_SUITES", dict(registry._SUITES))
    register_suite("mine", "a_suite")
    assert task_names("mine") == ("mine.one",)
    assert suites() == tuple(sorted({*registry._SUITES}))
