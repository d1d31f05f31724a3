"""Agents as rows and in words."""

import pytest

from runs.catalogue.agents import agent_hash, setting_in_words, store_agent
from webagent.trajectory.records import AgentRecord

pytestmark = pytest.mark.django_db


def record(**config: object) -> AgentRecord:
    return AgentRecord.model_validate({"name": "generic", "version": "1", "config": config})


def test_our_own_agent_is_told_by_the_model_that_it_names():
    assert store_agent(record(model="model-a", tips="")).model == "model-a"


@pytest.mark.parametrize("config", [{}, {"model": None}, {"model": {"name": "nested"}}])
def test_an_agent_that_names_no_model_has_none(config):
    assert store_agent(record(**config)).model == ""


def test_the_model_that_answered_is_told_where_it_is_known():
    assert store_agent(record(model="model-a"), ("a-as-served", "b")).model == "a-as-served"


def test_equal_content_is_one_row_whose_hash_does_not_know_the_column():
    row = store_agent(record(model="model-a"))
    assert store_agent(record(model="model-a")) == row
    assert row.config_hash == agent_hash(record(model="model-a"))
    assert row.config_hash != agent_hash(record(model="model-b"))


def test_a_configuration_with_hints_says_which() -> None:
    key = "abstract.other_site_lowest.47e63d6699b1"
    assert setting_in_words("hints", key) == "hints: abstract procedure, other site, lowest BM25"
    assert setting_in_words("hints", "of another kind") == "hints=of another kind"
