"""Every address of the site: what it says to browsers, whom it lets in, and what it takes.

`tests/judging/studies/test_blinding_urls.py` holds that the list of addresses is whole.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import pytest
from django.http.response import HttpResponseBase
from django.template import Template
from django.test import Client
from django.test.signals import template_rendered
from django.urls import URLPattern, URLResolver, get_resolver

from judging.analysis.audits import verdict_views, views
from judging.analysis.audits.comparing import views as comparing
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.experiments import access
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import Scope
from judging.models import Study
from judging.studies.access import TAG_FAILURES
from runs.models import Run, Task, User
from tests.judging.portability.test_study_report import report_of
from tests.judging.studies.blind_world import World
from tests.judging.studies.statements import Statement, asked_of_database
from tests.judging.studies.url_cases import CASES, Visit
from tests.runs.factories import client_of
from tests.security.crowd import crowd
from tests.security.markup import body, misread, wrong
from tests.security.payloads import PAYLOADS
from tests.security.poison import poison
from tests.security.rooms import PARTS, nowhere, room_of

OPEN = {"login", "set_language", "admin:login", "admin:jsi18n"}
"""Answer also to whoever has not logged in. The second only sets a cookie."""
TEMPLATES = Path(__file__).parents[2] / "templates"
POLICY = '<meta http-equiv="Content-Security-Policy"'
LEAVES = {"logout", "admin:logout", "login", "set_language"}
WRITES = re.compile(r'(?:INSERT|UPDATE|DELETE)[A-Z ]* "(\w+)"')
NOTES = {"runs_act", "judging_unblinding", "runs_user", "runs_spacemeasurement"}
"""Tables in which it is noted who was told what, who was where, and how full the store is."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ON_SQLITE = pytest.mark.sqlite_only("headers and refusals are alike on both")


@pytest.fixture(autouse=True)
def _django_db_marker() -> None:
    """Instead of a transaction for each test: one for all, which `world` opens."""


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="django.request")


def visits(world: World, most: int, *, posts: bool = False) -> Iterator[tuple[str, Visit]]:
    """Every address with the first of its arguments, without queries."""
    for name, fill in CASES.items():
        bare = (
            one for one in fill(world) if "?" not in one.path and (one.data is not None) == posts
        )
        for visit in islice(bare, most):
            yield name, visit


def patterns(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from patterns(pattern, inner)
        else:
            yield f"{space}{pattern.name}", pattern


@ON_SQLITE
@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_is_answered_to_who_has_not_logged_in(world: World, method: str) -> None:
    client = Client()
    let_in = []
    for name, visit in visits(world, 1):
        answer = getattr(client, method)(visit.path)
        to_log_in = answer.status_code == 302 and "/login/" in answer["Location"]
        if not to_log_in and answer.status_code != 401 and name not in OPEN:
            let_in.append((name, answer.status_code))
    assert {name for name, code in let_in if code < 400} <= {"logout", "api:openapi-json"}


@ON_SQLITE
def test_every_view_says_which_methods_it_takes(world: World, overseer) -> None:
    client = client_of(overseer)
    answers = {
        name: client.put(visit.path)
        for name, visit in visits(world, 1)
        if name.startswith(("runs:", "judging:"))
    }
    assert {name for name, answer in answers.items() if answer.status_code != 405} == set()
    take_forms = {name for name, answer in answers.items() if "POST" in answer["Allow"]}
    # A file that is imported is read in the background: no visit sends one.
    sent = {name for name, _ in visits(world, 1, posts=True)} & set(answers)
    assert take_forms == sent | {"runs:import_list"}


@ON_SQLITE
def test_no_form_is_taken_without_its_token(world: World, overseer) -> None:
    """Also where an address takes no form at all: the token is asked for first."""
    client = client_of(overseer, enforce_csrf_checks=True)
    codes = {name: client.post(visit.path, {}).status_code for name, visit in visits(world, 1)}
    # The API takes tokens only, and looks at no session: there is nothing to forge.
    other = {name for name, code in codes.items() if code != 403} - {"api:openapi-json"}
    assert {name for name in other if not name.startswith("api:")} == set()
    assert {codes[name] for name in other} <= {401, 404, 405}


@ON_SQLITE
def test_strangers_find_no_object_of_others(world: World) -> None:
    """Whatever has a key in its address is not there for somebody who has no part in it."""
    client = client_of(world.stranger)
    with_keys = {name for name, pattern in patterns(get_resolver()) if pattern.pattern.converters}
    # Whoever says why runs failed may see which samples of failures there are.
    with_keys -= {name for name in with_keys if room_of(name) == TAG_FAILURES}
    found = []
    for posts in (False, True):
        for name, visit in visits(world, 2, posts=posts):
            if name not in with_keys or name in LEAVES:
                continue
            answer = client.post(visit.path, visit.data) if posts else client.get(visit.path)
            if answer.status_code not in (401, 403, 404, 405):
                found.append((name, "POST" if posts else "GET", answer.status_code))
    # The administration sends who may not be there to its own log-in page.
    assert [one for one in found if not one[0].startswith("admin")] == []
    assert {code for name, _, code in found if name.startswith("admin")} <= {302}


@ON_SQLITE
@pytest.mark.parametrize("method", ["get", "post"])
def test_what_is_not_there_is_not_found(world: World, overseer, method: str) -> None:
    client = client_of(overseer)
    found = []
    for name, visit in visits(world, 1):
        path = nowhere(visit.path)
        if path == visit.path or name.startswith(("admin", "api")):
            continue
        code = getattr(client, method)(path).status_code
        if code not in (404, 405):
            found.append((name, path, code))
    assert found == []


@ON_SQLITE
@pytest.mark.parametrize("role", PARTS)
def test_each_role_is_answered_what_permissions_and_parts_say(world: World, role: str) -> None:
    """What one may not see looks like what is not there."""
    user: User = getattr(world, role)
    client = client_of(user)
    keyed = {name for name, pattern in patterns(get_resolver()) if pattern.pattern.converters}
    wrong: list[tuple[str, int, object]] = []
    for name, visit in visits(world, 1):
        if name in LEAVES or name.startswith(("admin", "api")):
            continue
        room, code = room_of(name), client.get(visit.path).status_code
        if room is not None and not user.has_perm(room):
            if not {code, client.post(visit.path).status_code} <= {403, 405}:
                wrong.append((name, code, room))
            expected = {403}
        elif name not in keyed:
            continue
        elif room is not None:
            expected = {200, 404}
        else:
            expected = {200} if re.fullmatch(PARTS[role], name) else {404}
        if code not in expected | {405}:
            wrong.append((name, code, expected))
        elif code in (403, 404) and client.get(nowhere(visit.path)).status_code != code:
            wrong.append((name, code, "tells that it exists"))
    assert wrong == []


def test_an_engineer_finds_no_private_object_of_others(world: World, overseer) -> None:
    client = client_of(overseer)
    job = world.job
    assert client.get(f"/imports/{job.pk}/").status_code == 404
    assert client.post(f"/imports/{job.pk}/decide/", {"discard": "1"}).status_code == 404
    run, other = world.disputed, world.run
    blob = other.attachments.get().blob_id
    for path in (f"/runs/{run.pk}/blobs/{blob}/", f"/runs/{other.pk}/blobs/{'0' * 64}/"):
        assert client.get(path).status_code == 404


def careless(answer: HttpResponseBase) -> list[str]:
    """What the answer does not tell browsers to be careful of."""
    policy = answer.get("Content-Security-Policy", "")
    lacking = [name for name, value in HEADERS.items() if answer.get(name) != value]
    if "sandbox" not in policy and "frame-ancestors 'none'" not in policy:
        lacking.append("frame-ancestors")
    if "default-src 'none'" not in policy or "unsafe" in policy:
        lacking.append(f"Content-Security-Policy: {policy}")
    if "camera=()" not in answer.get("Permissions-Policy", ""):
        lacking.append("Permissions-Policy")
    return lacking


@ON_SQLITE
@pytest.mark.parametrize("path", ["/nothing-here/", "/acts/", "/runs/x/", "/login/?next=//evil"])
def test_errors_tell_browsers_to_be_careful_too(world: World, path: str) -> None:
    for client in (Client(), client_of(world.stranger), Client(enforce_csrf_checks=True)):
        assert careless(client.get(path)) == []
        assert careless(client.post(path)) == []


def test_files_of_the_program_do_so_as_well() -> None:
    answer = Client().get("/static/css/base.css")
    assert careless(answer) == []
    body(answer)


@ON_SQLITE
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/healthz"])
def test_so_does_what_machines_are_answered(world: World, path: str) -> None:
    assert careless(Client().get(path)) == []


@ON_SQLITE
def test_pages_are_for_one_person_and_asked_for_again(world: World) -> None:
    client = client_of(world.annotator)
    paths = ("/runs/", "/studies/", "/runs/x/", "/acts/", f"/runs/{world.run.pk}/")
    assert {client.get(path)["Cache-Control"] for path in paths} == {"private, no-cache"}


@ON_SQLITE
def test_what_cannot_be_read_is_answered_in_words(world: World, settings) -> None:
    client = client_of(world.annotator)
    settings.ALLOWED_HOSTS = ["testserver"]
    stranger = client.get("/runs/", headers={"Host": "evil.example"})
    large = client.post("/account/password/", {"x": "y" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE})
    many = client.post("/account/password/", {f"x{n}": "" for n in range(2000)})
    for answer, code in ((stranger, 400), (large, 413), (many, 413)):
        assert (answer.status_code, careless(answer)) == (code, [])
        assert "Nothing was saved" in answer.content.decode()


# Where a name to sort by holds a point.
@pytest.mark.filterwarnings("ignore:Use '__' to separate:DeprecationWarning")
@pytest.mark.parametrize(
    "nonsense",
    ["\0", "%00", "%ed%a0%80", "9" * 400, "9" * 5000, "\u0663", PAYLOADS[1], PAYLOADS[-1]],
)
def test_nonsense_in_the_address_breaks_nothing(world: World, overseer, nonsense: str) -> None:
    client = client_of(overseer)
    query = dict.fromkeys(("q", "sort", "page", "before", "who", "since", "step"), nonsense)
    experiment = f"/experiments/{world.run.experiment_id}"
    broken = []
    for path in (
        "/runs/",
        "/acts/",
        "/tasks/",
        "/studies/",
        "/audit/",
        "/experiments/",
        "/reruns/",
        f"{experiment}/pictures/accuracy.svg",
    ):
        answer = client.get(path, query | {"agent": nonsense, "outcome": nonsense})
        if answer.status_code >= 500:
            broken.append(path)
    # One at a time where the first that makes no sense is answered.
    for path in ("/runs/?task_set=", "/tasks/?task_set=", f"{experiment}/runs/?level="):
        if client.get(path + quote(nonsense)).status_code >= 500:
            broken.append(path)
    assert broken == []


NOTHING_FOREIGN = {
    # Our own words, and numbers.
    "_fragments/no_runs.html",
    "errors/bare.html",
    "judging/demo/demo_load.html",
    "judging/desk/_neglected.html",
    "judging/studies/_label_given.html",
    "runs/launching/_estimate_limits.html",
    # A frame of two lines around others, which are shown.
    *("_fragments/pagination.html", "_fragments/messages_swap.html"),
}
"""Templates that the walk need not show."""


def count_once(patch: pytest.MonkeyPatch) -> None:
    """Figures about the same under the same query are counted once for all pages and files."""

    def remembered(kind: type) -> Callable[..., object]:
        known: dict[object, object] = {}

        def made(about: Scope | Study, *query: object) -> object:
            key = (str(about.runs.query) if isinstance(about, Scope) else about, query)
            if key not in known:
                known[key] = kind(about, *query)
            return known[key]

        return made

    patch.setattr(access, "Facts", remembered(Facts))
    audit = remembered(AuditFacts)
    for module in (views, comparing, verdict_views):
        patch.setattr(module, "AuditFacts", audit)


@contextmanager
def shown() -> Iterator[set[str]]:
    """The names of all templates that are rendered meanwhile."""
    names: set[str] = set()

    def note(template: Template, **_: object) -> None:
        names.add(str(template.name))

    template_rendered.connect(note)
    yield names
    template_rendered.disconnect(note)


def everywhere(world: World, overseer: User) -> Iterator[tuple[User, Visit]]:
    """Each address without a query, as somebody who sees everything and as somebody who labels."""
    labelling = ("judging:annotate", "judging:label_examples")
    for user, rooms in ((overseer, ("",)), (world.annotator, labelling)):
        for name, visit in visits(world, 99):
            if name not in LEAVES and name.startswith(rooms):
                yield user, visit


@pytest.mark.sqlite_only("tests what pages show")
def test_hostile_strings_stay_text_on_every_page_and_in_every_file(
    world: World, overseer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of all, for it changes the site. Looking at pages and files changes nothing."""
    Task.objects.filter(runs=world.disputed).update(infeasible_reason="why")
    crowded = crowd(world, overseer)
    assert poison(crowded.spared) > 100
    count_once(monkeypatch)
    # As if it had gone through the queue here, so that the list of reruns has a row.
    Run.objects.filter(pk=world.rerun.pk).update(lease_token=1)
    found, answered, changed = [], 0, set()
    clients = {user: client_of(user) for user, _ in crowded.visits}
    clients |= {user: client_of(user) for user in (overseer, world.annotator)}
    with shown() as names:
        seen = list(everywhere(world, overseer))
        for place, (user, visit) in enumerate((*seen, *crowded.visits)):
            send = clients[user].get if visit.data is None else clients[user].post
            with asked_of_database() as statements:
                answer = send(visit.path, visit.data, headers=visit.headers)
                found += [f"{visit.path}: {one}" for one in (*wrong(answer), *careless(answer))]
            answered += answer.status_code == 200
            if user == overseer and place < len(seen):
                changed |= {(visit.path, table) for table in written(statements) - NOTES}
        for study in crowded.reported:
            found += hostile_in_report_of(study)
    assert not found, "\n".join(found)
    assert not changed, "asking changes nothing"
    assert answered > 400
    audit = client_of(overseer).get(f"/studies/{world.other_study.pk}/audit/")
    assert '<section class="matrices"' in audit.content.decode()  # and not the page without figures
    ours = {str(one.relative_to(TEMPLATES)) for one in TEMPLATES.rglob("*.html")}
    assert ours - names - NOTHING_FOREIGN == set(), "no visit shows these templates"


def written(statements: Iterable[Statement]) -> set[str]:
    """The tables that the statements write into."""
    return {match[1] for each in statements if (match := WRITES.match(each.text))}


def hostile_in_report_of(study: Study) -> Iterator[str]:
    """What is wrong with the pages of a study's report; each forbids scripts in a line of ours."""
    for name, page in report_of(Study.objects.get(pk=study.pk)).items():
        text = page.decode() if name.endswith(".html") else ""
        policy, text = text.count(POLICY), text.replace(POLICY, "<meta", 1)
        yield from (f"{name}: {one}" for one in misread(text))
        if name.endswith(".html") and not policy:
            yield f"{name}: without a policy"
