"""Sessions, passwords and tries to guess them."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.core.exceptions import ValidationError
from django.db.models import F
from django.test import Client
from django.urls import reverse

from runs.accounts import log_in as log_in_limits
from runs.accounts.actors import client_address
from runs.models import AuditEntry, User
from tests.runs.factories import PASSWORD, client_of, make_user

MOST_TRIES = 25
"""Instead of a hundred, each of which takes its time."""


class _Request:
    """As much of a request as an address is read from."""

    def __init__(self, peer: str, forwarded: str | None = None) -> None:
        self.META = {"REMOTE_ADDR": peer}
        if forwarded is not None:
            self.META["HTTP_X_FORWARDED_FOR"] = forwarded


def address(settings: Any, proxies: int, peer: str, forwarded: str | None = None) -> str | None:
    settings.PROXIES = proxies
    return client_address(_Request(peer, forwarded))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("proxies", "forwarded", "found"),
    [
        (0, None, "10.0.0.1"),
        (0, "9.9.9.9", "10.0.0.1"),  # nobody of ours could have said so
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "9.9.9.9, 203.0.113.7", "203.0.113.7"),  # the first was sent by the visitor
        (1, None, "10.0.0.1"),  # past the proxy
        (2, "9.9.9.9, 203.0.113.7, 10.0.0.2", "203.0.113.7"),
        (2, "203.0.113.7", "10.0.0.1"),
        (1, "9.9.9.9,", None),
        (1, "x" * 5000, None),
        (1, "2001:db8::1", "2001:db8::1"),
    ],
)
def test_an_address_cannot_be_made_up(settings, proxies, forwarded, found) -> None:
    assert address(settings, proxies, "10.0.0.1", forwarded) == found


@pytest.mark.parametrize(
    "word", ["short-1", "1234567890123", "password123", "adalovelace1", " " * 9]
)
def test_weak_passwords_are_refused(word) -> None:
    with pytest.raises(ValidationError):
        validate_password(word, User(username="adalovelace"))


@pytest.mark.django_db
def test_a_session_that_was_there_before_log_in_is_not_the_one_after() -> None:
    make_user("annotator", "ann")
    client = Client()
    client.get("/login/")
    session = client.session
    session["planted"] = "by somebody else"
    session.save()
    planted = str(session.session_key)
    client.cookies["sessionid"] = planted
    client.post("/login/", {"username": "ann", "password": PASSWORD})
    assert client.cookies["sessionid"].value != planted
    old = Client()
    old.cookies["sessionid"] = planted
    assert old.get("/").status_code == 302
    cookie = client.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "a", "abcdefgh\\000ijklmnop", "'; --" * 9, "é" * 40])
def test_a_session_that_cannot_be_one_is_none(key: str) -> None:
    """A cookie in quotes may name any character by its number, the one no database takes too."""
    answer = Client().get("/runs/", headers={"Cookie": f'sessionid="{key}"'})
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/runs/")


@pytest.mark.slow
@pytest.mark.django_db
def test_a_new_password_ends_every_session_but_none_of_others() -> None:
    user, other = make_user("annotator", "ann"), make_user("annotator", "bob")
    clients = [Client(), Client(), Client()]
    for client, person in zip(clients, (user, user, other), strict=True):
        client.force_login(person)
        assert client.get("/studies/").status_code == 200
    user.set_password("another long passphrase")
    user.save()
    assert [client.get("/studies/").status_code for client in clients] == [302, 302, 200]


@pytest.mark.django_db
def test_everybody_changes_their_own_password_and_it_is_written_down() -> None:
    user = make_user("annotator")
    here, elsewhere = Client(), Client()
    for browser in (here, elsewhere):
        browser.force_login(user)
    page = reverse("password_change")
    new = "another orchard gate 7"
    words = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    for wrong in ({"old_password": "no"}, {"new_password1": "1", "new_password2": "1"}):
        assert here.post(page, words | wrong).status_code == 200
    assert not AuditEntry.objects.filter(kind="account.password_changed").exists()
    assert here.post(page, words)["Location"] == reverse("password_change_done")
    assert here.get(reverse("password_change_done")).status_code == 200
    assert elsewhere.get(page).status_code == 302
    act = AuditEntry.objects.get(kind="account.password_changed")
    assert (act.user, act.words) == (user, user.username)
    assert Client().login(username=user.username, password=new)
    assert Client().get(page).status_code == 302


@pytest.mark.django_db
def test_an_account_that_is_switched_off_is_out_at_once() -> None:
    user = make_user("annotator", "ann")
    client = client_of(user)
    user.is_active = False
    user.save()
    assert client.get("/studies/").status_code == 302


@pytest.fixture
def guarded(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AXES_ENABLED = True
    settings.PROXIES = 1
    monkeypatch.setattr(log_in_limits, "MOST_TRIES", MOST_TRIES)


def tries(n: int, *, name: str = "ann{n}", address: str = "198.51.100.{n}") -> list[int]:
    """Status codes of so many tries with a wrong password, behind the proxy."""
    client = Client()
    return [
        client.post(
            "/login/",
            {"username": name.format(n=number), "password": "guess"},
            headers={"X-Forwarded-For": f"{number}.9.9.9, {address.format(n=number % 250)}"},
        ).status_code
        for number in range(n)
    ]


@pytest.mark.slow
@pytest.mark.django_db
def test_one_address_gets_ten_tries_at_a_name(guarded) -> None:
    make_user("annotator", "ann")
    codes = tries(14, name="ann", address="198.51.100.1")
    assert codes == [200] * 9 + [429] * 5
    right = {"username": "ann", "password": PASSWORD}
    there, elsewhere = ({"X-Forwarded-For": f"198.51.100.{n}"} for n in (1, 2))
    locked = Client().post("/login/", right, headers=there)
    assert (locked.status_code, locked["Retry-After"]) == (429, "900")
    assert "Try again in 15 min" in locked.content.decode()
    assert Client().post("/login/", right, headers=elsewhere).status_code == 302


def log_in(name: str, address: str, password: str = PASSWORD, proxies: int = 1) -> Any:
    """The answer to a try from that address, whatever the visitor claims, behind our proxies."""
    hops = ["192.0.2.1", address, *["10.0.0.2"] * (proxies - 1)]
    return Client().post(
        "/login/",
        {"username": name, "password": password},
        headers={"X-Forwarded-For": ", ".join(hops)},
    )


def let_pass(pause: timedelta) -> None:
    """As if so much time had gone by since the failed tries."""
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - pause)


@pytest.mark.django_db
@pytest.mark.slow
def test_an_attacker_from_one_address_does_not_lock_the_owner_out(guarded) -> None:
    make_user("annotator", "ann")
    codes = tries(MOST_TRIES * 2, name="ann", address="198.51.100.1")
    assert codes.count(200) < MOST_TRIES
    assert log_in("ann", "198.51.100.2").status_code == 302


@pytest.mark.django_db
@pytest.mark.slow
def test_many_addresses_slow_a_name_down_and_lock_nobody_out(guarded) -> None:
    make_user("annotator", "ann")
    assert log_in("ann", "198.51.100.200").status_code == 302
    codes = tries(MOST_TRIES + 5, name="ann", address="198.51.100.{n}")
    assert codes == [200] * MOST_TRIES + [429] * 5
    assert AuditEntry.objects.filter(kind="account.login_failed").count() == MOST_TRIES
    refused = log_in("ann", "203.0.113.1")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= log_in_limits.PAUSE.total_seconds()
    assert f"Try again in {refused['Retry-After']}" in refused.content.decode()
    # The owner's own address is known, that of others and a claimed one are not.
    assert log_in("ann", "198.51.100.200").status_code == 302
    assert log_in("bob", "203.0.113.1", "guess").status_code == 200
    # A try in each pause is looked at, whoever's it is.
    for number in range(3):
        let_pass(log_in_limits.PAUSE)
        codes = [log_in("ann", f"203.0.113.{number}{n}", "guess").status_code for n in range(3)]
        assert codes == [200, 429, 429]
    let_pass(log_in_limits.PAUSE)
    assert log_in("ann", "203.0.113.99").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("proxies", [1, 2])
@pytest.mark.slow
def test_limits_go_by_the_address_that_our_proxies_saw(guarded, settings, proxies: int) -> None:
    """Claiming the owner's address, or another one with each try, helps nobody."""
    settings.PROXIES = proxies
    make_user("annotator", "ann")
    assert log_in("ann", "192.0.2.9", proxies=proxies).status_code == 302
    guesses = [log_in("ann", "192.0.2.8", "guess", proxies).status_code for _ in range(12)]
    assert guesses == [200] * 9 + [429] * 3
    for n in range(MOST_TRIES):
        log_in("ann", f"198.51.100.{n}", "guess", proxies)
    claimed = Client().post(
        "/login/",
        {"username": "ann", "password": PASSWORD},
        headers={"X-Forwarded-For": ", ".join(["192.0.2.9"] + ["203.0.113.1"] * proxies)},
    )
    assert claimed.status_code == 429
    assert log_in("ann", "192.0.2.9", proxies=proxies).status_code == 302


@pytest.mark.slow
@pytest.mark.django_db
def test_one_address_does_not_try_every_name(guarded) -> None:
    codes = tries(MOST_TRIES + 5, address="198.51.100.1")
    assert codes == [200] * MOST_TRIES + [429] * 5
    make_user("annotator", "ann")
    elsewhere = {"X-Forwarded-For": "198.51.100.2"}
    right = {"username": "ann", "password": PASSWORD}
    assert Client().post("/login/", right, headers=elsewhere).status_code == 302


@pytest.mark.slow
@pytest.mark.django_db
def test_a_log_in_outlives_an_upgrade_and_the_way_back() -> None:
    """Every version keeps sessions as Django does, and names Django's own backend in them."""
    person, visitor = make_user("annotator"), Client()
    older = DatabaseSessions()
    older[SESSION_KEY] = str(person.pk)
    older[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    older[HASH_SESSION_KEY] = person.get_session_auth_hash()
    older.save()
    visitor.cookies[settings.SESSION_COOKIE_NAME] = older.session_key or ""
    assert visitor.get("/").status_code == 200

    visitor = Client()
    visitor.post("/login/", {"username": person.username, "password": PASSWORD})
    held = DatabaseSessions(visitor.cookies[settings.SESSION_COOKIE_NAME].value).load()
    assert held[BACKEND_SESSION_KEY] == older[BACKEND_SESSION_KEY]
    assert visitor.get("/").status_code == 200
