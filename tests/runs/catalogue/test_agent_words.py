"""Agents and their settings on one line."""

from runs.catalogue.agents.choices import setting_in_words


def test_a_configuration_with_hints_says_which() -> None:
    key = "abstract.other_site_lowest.47e63d6699b1"
    assert setting_in_words("hints", key) == "hints: abstract procedure, other site, lowest BM25"
    assert setting_in_words("hints", "of another kind") == "hints=of another kind"
