"""Secrets go, and are counted; what is no secret stays as it was."""

import time
from typing import Any

import pytest

from webagent.trajectory.redaction import REDACTED, Redactor, is_password_field, is_secret_key

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh12345678"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (
            "https://a.example/?q=1&access_token=abc&x=2",
            "https://a.example/?q=1&access_token=%s&x=2",
            "address",
        ),
        ("http://a.example/#id_token=xyz", "http://a.example/#id_token=%s", "address"),
        ("see https://joe:hunter2@a.example/x", "see https://joe:%s@a.example/x", "address"),
        (f"/admin/sales/key/{'a1' * 20}/", "/admin/sales/key/%s/", "address"),
        ("Cookie: sid=1; a=b\nHost: x", "Cookie: %s\nHost: x", "header"),
        ("curl -H 'Authorization: Token abcdef' x", "curl -H 'Authorization: %s' x", "header"),
        ("sent Bearer abcdefghijklmnop123 to it", "sent Bearer %s to it", "header"),
        (f"token is {JWT}.", "token is %s.", "key"),
        ("OPENAI sk-abcdefghijklmnopqrstuv here", "OPENAI %s here", "key"),
    ],
)
def test_secrets_in_text_go(before: str, after: str, kind: str) -> None:
    redactor = Redactor()
    assert redactor.text(before) == after % REDACTED
    assert dict(redactor.counts) == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "The basic idea is a cookie recipe: 200 g sugar",
        "https://shop.example/?page=2&order=price#top",
        "fill('16', 'cierra')",
        "max_tokens=100, token count 12",
        "click on [Sign in] skeleton-key",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert not redactor.counts


def test_json_is_cleared_by_key_by_header_and_by_cookie() -> None:
    redactor = Redactor()
    har: dict[str, Any] = {
        "headers": [
            {"name": "Cookie", "value": "a=b"},
            {"name": "set-cookie", "value": "c=d; HttpOnly"},
            {"name": "Accept", "value": "text/html"},
        ],
        "cookies": [{"name": "sid", "value": "s3cret", "path": "/"}],
        "model_args": {"apiKey": "k", "max_tokens": 5, "model_name": "m"},
    }
    assert redactor.json(har) == {
        "headers": [
            {"name": "Cookie", "value": REDACTED},
            {"name": "set-cookie", "value": REDACTED},
            {"name": "Accept", "value": "text/html"},
        ],
        "cookies": [{"name": "sid", "value": REDACTED, "path": "/"}],
        "model_args": {"apiKey": REDACTED, "max_tokens": 5, "model_name": "m"},
    }
    assert dict(redactor.counts) == {"cookie": 3, "setting": 1}


def test_bodies_of_log_ins_go_whole_and_others_by_field() -> None:
    redactor = Redactor()
    login = {
        "url": "http://a.example/customer/account/loginPost/",
        "postData": {"mimeType": "x", "text": "u=a&p=b"},
    }
    assert redactor.json(login)["postData"] == {"mimeType": "x", "text": REDACTED}
    form = {
        "url": "http://a.example/do",
        "postData": {"text": '{"password": "hunter2"}', "params": []},
    }
    assert redactor.json(form)["postData"] == {"text": REDACTED}
    plain = {"url": "http://a.example/do", "postData": {"text": "colour=red"}}
    assert redactor.json(plain) == plain
    assert redactor.counts["log-in"] == 2


def test_a_password_that_was_typed_goes_everywhere() -> None:
    redactor = Redactor()
    redactor.learn("hunter22")
    redactor.learn("abc")
    said = {
        "input": {"text": "hunter22"},
        "result": "Typed 'hunter22' into 3",
        "pin": "abc",
        "all": "abcd",
    }
    assert redactor.json(said) == {
        "input": {"text": REDACTED},
        "result": f"Typed '{REDACTED}' into 3",
        "pin": REDACTED,
        "all": "abcd",
    }
    assert redactor.counts["password"] == 3


def test_what_the_task_itself_says_is_no_secret() -> None:
    redactor = Redactor('Log in with the user "ada" and the password "11L-xyz"')
    redactor.learn("11L-xyz")
    assert redactor.json({"text": "11L-xyz", "password": "11L-xyz"}) == {
        "text": "11L-xyz",
        "password": "11L-xyz",
    }
    assert not redactor.counts


def test_clearing_twice_changes_and_counts_nothing_more() -> None:
    first, second = Redactor(), Redactor()
    value = {"cookie": "a=b", "text": "Cookie: a=bcdef\nx https://h.example/?token=1"}
    once = first.json(value)
    assert second.json(once) == once


def test_names_of_secret_things() -> None:
    for key in (
        "password",
        "user_password",
        "X-Api-Key",
        "accessToken",
        "Authorization",
        "form_key",
    ):
        assert is_secret_key(key), key
    for key in ("max_tokens", "input_tokens", "keyboard", "author", "cookies_accepted", "key", ""):
        assert not is_secret_key(key), key
    assert is_password_field(None, "user[password]")
    assert not is_password_field("text", "Pass the salt")


@pytest.mark.parametrize(
    "nasty",
    ["-eyJ", "?-", "&token", "https://a:", "Bearer ", "Cookie: ", "/key/0", "a=b;", "sk-", "\n "],
)
def test_no_text_makes_it_slow(nasty: str) -> None:
    started = time.process_time()
    Redactor().text(nasty * (1_000_000 // len(nasty)))
    assert time.process_time() - started < 5
