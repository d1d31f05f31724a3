"""Every form as a whole takes linear time, whatever stands in its fields."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from judging.models import Study
from runs.launching.agents import OfferedAgents
from runs.launching.policies.rule_forms import RuleFormSet, rule_forms
from runs.models import LearningJob
from tests.judging.factories import annotators_of, make_study, next_assignment
from tests.linear_time.growth import Sizes, size_grows_too_fast
from tests.linear_time.sources import modules, package_of, packages
from tests.runs.factories import make_experiment, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("counts work of this process"),
    pytest.mark.slow,
]

SIZES = Sizes(625, 10_000)
UNITS = ("a", "1", "1,", "[", '{"a":', "a b ")
"""For choices, numbers, lists of numbers, JSON and words."""


def _forms(package: str) -> Iterator[type[forms.Form]]:
    for module in modules():
        if package_of(module.__name__) != package:
            continue
        for one in vars(module).values():
            if (
                isinstance(one, type)
                and issubclass(one, forms.Form)
                and one.__module__ == module.__name__
            ):
                yield one


@pytest.fixture
def given() -> dict[str, Any]:
    """What forms are made with, by the names of their parameters."""
    study: Study = make_study(runs=1)
    user = make_user()
    assignment = next_assignment(study=study, user=annotators_of(study)[0])
    agents = OfferedAgents(user)
    return {
        "user": user,
        "study": study,
        "of": assignment,
        "for_": assignment,
        "experiment": make_experiment(),
        "agents": agents,
        "models": [],
        "default_model": None,
        "run_ids": [],
        "questions": [],
        "same_words": "",
        "is_new": True,
        "work": LearningJob(max_cost=1),
    }


@pytest.mark.parametrize("package", packages())
def test_forms_take_linear_time(package: str, given: dict[str, Any]) -> None:
    for kind in _forms(package):
        _takes_linear_time(kind, given)


def _takes_linear_time(kind: type[forms.Form], given: dict[str, Any]) -> None:
    def clean(data: QueryDict) -> None:
        form = _made(kind, data, given)
        with suppress(ValueError):
            form.is_valid()
            str(form)

    _made(kind, QueryDict(), given)
    names = [*kind.base_fields]
    clean(_filled(names, 9, UNITS[0]))
    for unit in UNITS:

        def make(n: int, unit: str = unit) -> QueryDict:
            return _filled(names, n, unit)

        assert size_grows_too_fast(clean, make, SIZES) is None, (kind, unit)


def _made(kind: type[forms.Form], data: QueryDict, given: dict[str, Any]) -> forms.Form:
    names = {name for one in kind.__mro__[:-1] for name in inspect.signature(one).parameters}
    wanted = {name: given[name] for name in names & given.keys()}
    if "rules" in names:
        wanted["rules"] = rule_forms(data, [], given["agents"])
    make: Callable[..., forms.Form] = kind
    takes_files = any(isinstance(field, forms.FileField) for field in kind.base_fields.values())
    files = (
        MultiValueDict({name: [_file(str(data[name]))] for name in data}) if takes_files else None
    )
    return make(data=data, files=files, **wanted) if files else make(data=data, **wanted)


def _file(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("file.json", text.encode())


def _filled(names: list[str], n: int, unit: str) -> QueryDict:
    """Every field with one long text, and with as many short ones."""
    data = QueryDict(mutable=True)
    for name in names:
        data.setlist(name, [*(f"{unit}{i}" for i in range(n // 8)), unit * (n // len(unit))])
    data["rules-TOTAL_FORMS"] = unit * n
    return data


def test_rules_of_a_policy_take_linear_time(given: dict[str, Any]) -> None:
    def clean(data: QueryDict) -> None:
        made: RuleFormSet = rule_forms(data, [], given["agents"])
        made.is_valid()

    def make(n: int) -> QueryDict:
        data = _filled([f"rules-{i}-when" for i in range(n // 8)], 80, "a")
        data["rules-TOTAL_FORMS"] = str(n // 8)
        data["rules-INITIAL_FORMS"] = "0"
        return data

    assert size_grows_too_fast(clean, make, SIZES) is None


def test_more_than_linear_time_is_noticed(given: dict[str, Any]) -> None:
    class Quadratic(forms.Form):
        words = forms.CharField()

        def clean(self) -> dict[str, Any]:
            words = self.data["words"]
            return {"n": sum(one == other for one in words for other in words)}

    with pytest.raises(AssertionError, match="times per item"):
        _takes_linear_time(Quadratic, given)
