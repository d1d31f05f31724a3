"""Site placeholders, and the setting that says where a deployment's sites are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from webagent.environment.placeholders import (
    SITES,
    checked_hosts,
    parse_hosts,
    placeholders,
    resolve,
    resolve_text,
    sites_named,
)
from webagent.settings.environment import Environment

HOSTS = {"reddit": "http://h:9999", "shopping_admin": "http://h:7780/admin"}


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("__REDDIT__/f/books", "http://h:9999/f/books"),
        ("__SHOPPING_ADMIN__/x |OR| __REDDIT__", "http://h:7780/admin/x |OR| http://h:9999"),
        ("git clone ssh://git@__REDDIT_HOST__:2222/a.git", "git clone ssh://git@h:2222/a.git"),
        ("__GITLAB__/a", "__GITLAB__/a"),
        ("func:f('__last_url__') __page__", "func:f('__last_url__') __page__"),
        ("__REDDIT", "__REDDIT"),
    ],
)
def test_placeholders_of_known_sites_are_replaced(text, resolved):
    assert resolve_text(text, HOSTS) == resolved


def test_strings_anywhere_inside_are_resolved_and_nothing_else_changes():
    spec: dict[str, Any] = {
        "__REDDIT__": ["__REDDIT__", 3, None, {"a": ["__REDDIT__/x"]}],
        "b": True,
    }
    assert resolve(spec, HOSTS) == {
        "__REDDIT__": ["http://h:9999", 3, None, {"a": ["http://h:9999/x"]}],
        "b": True,
    }
    assert spec["b"] is True
    assert spec["__REDDIT__"][0] == "__REDDIT__"


def test_what_is_left_is_named_once_in_order():
    value = ["__GITLAB__ __MAP__", {"a": "__GITLAB__ __GITLAB_HOST__"}]
    assert placeholders(value) == ["__GITLAB__", "__MAP__", "__GITLAB_HOST__"]
    assert sites_named(value) == ["gitlab", "map"]


@given(st.text(), st.sampled_from(SITES))
def test_resolving_leaves_no_placeholder_of_a_site_that_is_set(text, site):
    hosts = dict.fromkeys(SITES, "http://h:1")
    resolved = resolve_text(f"{text}__{site.upper()}__", hosts)
    assert resolved.endswith("http://h:1")


@pytest.mark.parametrize(
    ("given_hosts", "read"),
    [
        ("shopping=http://h:7770, reddit=http://h:9999/", {"shopping": "http://h:7770"}),
        ('{"shopping": "http://h:7770", "REDDIT": "http://h:9999"}', {"shopping": "http://h:7770"}),
        ("", {}),
    ],
)
def test_hosts_are_read_from_both_forms(monkeypatch, given_hosts, read):
    monkeypatch.setenv("SITE_HOSTS", given_hosts)
    hosts = Environment().SITE_HOSTS
    assert hosts == ({**read, "reddit": "http://h:9999"} if read else {})


@pytest.mark.parametrize(
    ("given_hosts", "words"),
    [
        ("shopping", "not of the form"),
        ("shopping=ftp://h", "http:// or https://"),
        ("shopping=http://", "names a host"),
        ("shopping=http://h:x", "no URL"),
        ("shopping=http://u:p@h", "without user name"),
        ("shopping=http://h?x=1", "without user name, query"),
        ("shop=http://h", "no site that is known"),
        ("reddit=http://a,reddit=http://b", "named twice"),
        ('{"reddit": 1}', "must name a URL"),
        ('{"reddit": "http://a", "reddit": "http://b"}', "named twice"),
        ("{", "Expecting"),
    ],
)
def test_bad_hosts_are_refused_with_words(monkeypatch, given_hosts, words):
    monkeypatch.setenv("SITE_HOSTS", given_hosts)
    with pytest.raises(ValidationError, match=words):
        Environment()


def test_parts_are_trimmed_and_checked_hosts_lose_the_final_slash():
    assert checked_hosts(parse_hosts(" map = http://h:3000/ ,")) == {"map": "http://h:3000"}
