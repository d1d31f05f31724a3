"""The stack of WebArena's sites: compose files that hold together, scripts that do what they say.

No image is started here: what the scripts change is tried on files, and what they wait for on a
server of our own.
"""

import fcntl
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.webagent.moody_site import MoodySite
from webagent.environment.placeholders import MAP_PARTS, SITES, checked_hosts, parse_hosts
from webagent.environment.probing import probe_sites

pytestmark = pytest.mark.slow

STACK = Path(__file__).resolve().parent.parent / "docker" / "webarena"
SCRIPTS = STACK / "scripts"
FILES = ("compose.yaml", "compose.map.yaml")
UNITS = {"m": 1, "g": 1024}

Service = dict[str, Any]


def stack(name: str) -> dict[str, Service]:
    services: dict[str, Service] = yaml.safe_load((STACK / name).read_text())["services"]
    return services


def filled(value: str) -> str:
    """The value with every setting at its default."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def megabytes(size: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([mg])", filled(size)).groups()  # type: ignore[union-attr]  # fails if not
    return int(number) * UNITS[unit]


def is_patch(name: str) -> bool:
    return name.endswith("-patch")


EVERY = [(file, name) for file in FILES for name in stack(file)]
LASTING = [(file, name) for file, name in EVERY if not is_patch(name)]


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_every_service_has_a_bound_on_its_memory(file: str, name: str) -> None:
    assert megabytes(stack(file)[name]["mem_limit"]) > 0


@pytest.mark.parametrize(("file", "name"), LASTING)
def test_every_lasting_service_says_whether_it_is_well(file: str, name: str) -> None:
    service = stack(file)[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["healthcheck"]["retries"] > 1
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", [name for name in stack("compose.yaml") if is_patch(name)])
def test_patches_wait_for_a_database_that_answers(name: str) -> None:
    services = stack("compose.yaml")
    (needed,) = services[name]["depends_on"].items()
    assert needed[1] == {"condition": "service_healthy"}
    asks = " ".join(services[needed[0]]["healthcheck"]["test"])
    assert "SELECT 1" in asks, "health must mean that the database answers a query"
    assert services[name]["restart"] == "no"


def test_every_site_that_tasks_name_is_there() -> None:
    names = {"forum" if site == "reddit" else site.replace("_", "-") for site in SITES}
    assert names <= set(stack("compose.yaml"))


@pytest.mark.parametrize("file", FILES)
def test_all_together_fit_into_32_gigabytes(file: str) -> None:
    total = sum(megabytes(stack(file)[name]["mem_limit"]) for f, name in LASTING if f == file)
    assert 16 * 1024 < total <= 29 * 1024


def test_shared_memory_where_it_is_needed() -> None:
    assert megabytes(stack("compose.map.yaml")["tile"]["shm_size"]) >= 1024
    for name in ("shopping", "shopping-admin", "forum", "gitlab"):
        assert megabytes(stack("compose.yaml")[name]["shm_size"]) >= 512


def test_what_is_behind_the_map_starts_in_turn() -> None:
    services = stack("compose.map.yaml")
    after = {name: list(service.get("depends_on", {})) for name, service in services.items()}
    assert after == {
        "osrm-car": [],
        "osrm-bike": ["osrm-car"],
        "osrm-foot": ["osrm-bike"],
        "nominatim": [],
        "tile": ["nominatim"],
    }


def test_the_example_shows_every_setting_with_its_default() -> None:
    shown = dict(
        line.split("=", 1)
        for line in (STACK / "sites.env.example").read_text().splitlines()
        if line and not line.startswith("#")
    )
    used: dict[str, str] = {}
    for path in (*(STACK / file for file in FILES), *SCRIPTS.glob("*.sh")):
        used |= dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", path.read_text()))
    inner = {"WAIT_PAUSE_S", "DOCKER", "RESET_LOCK", "RESET_WAIT_S", "ENV_FILE"}
    assert {name: value for name, value in used.items() if name not in inner} == shown


def test_mounted_files_are_there() -> None:
    for file in FILES:
        for service in stack(file).values():
            for volume in service.get("volumes", ()):
                source = filled(volume).split(":")[0]
                is_ours = source.startswith("./") and source != "./wiki"
                assert not is_ours or (STACK / source).exists(), source


@pytest.mark.parametrize("script", sorted(SCRIPTS.iterdir()), ids=lambda path: path.name)
def test_scripts_can_be_read_by_their_shell(script: Path) -> None:
    shell = "bash" if script.suffix == ".bash" else "sh"
    subprocess.run([shell, "-n", script], check=True)
    if checker := shutil.which("shellcheck"):
        subprocess.run([checker, "-x", "-P", STACK, "-s", shell, script], check=True)


def through(filter_: str, text: str, *arguments: str) -> str:
    """The text after one of the filters."""
    command = f'. "{SCRIPTS}/filters.sh"; {filter_} "$@"'
    done = subprocess.run(
        ["sh", "-c", command, "filter", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


HTTP_CLIENT = """\
services:
    _defaults:
        autowire: true

    postmill.http_client.external_client:
        class: Symfony\\Component\\HttpClient\\NoPrivateNetworkHttpClient
        arguments:
            - '@postmill.http_client.default'

    postmill.http_client.external_client.psr18:
        class: Symfony\\Component\\HttpClient\\Psr18Client
"""
POOL = """\
[www]
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
;pm.max_requests = 500
"""
LIMITS = """\
 * @RateLimit(period="5 minutes", max=15, groups={"create"}, entityClass=Submission::class)
 * @RateLimit(period="1 hour", max="3", groups={"untrusted_user_create"},
 * @Assert\\Length(max=300)
"""
GITLAB = "external_url 'http://metis:8023'\nnginx['enable'] = true\n# external_url 'x'\n"


def test_php_gets_its_workers() -> None:
    assert through("fpm_workers", POOL, "32").splitlines() == [
        "[www]",
        "pm = dynamic",
        "pm.max_children = 32",
        "pm.start_servers = 8",
        "pm.min_spare_servers = 4",
        "pm.max_spare_servers = 16",
        "pm.max_requests = 500",
    ]


def test_limits_of_posts_are_lifted_and_no_others() -> None:
    lifted = through("lift_rate_limits", LIMITS)
    assert lifted.count("max=1000000") == 2
    assert "Length(max=300)" in lifted


def test_the_forum_may_open_local_addresses() -> None:
    read: dict[str, Any] = yaml.safe_load(through("allow_local_addresses", HTTP_CLIENT))
    services = read["services"]
    assert services["postmill.http_client.external_client"] == {
        "alias": "postmill.http_client.default"
    }
    assert services["postmill.http_client.external_client.psr18"]["class"].endswith("Psr18Client")
    assert services["_defaults"] == {"autowire": True}


def test_gitlab_gets_its_address_once() -> None:
    settings = through("gitlab_settings", GITLAB, "http://h:9", "4")
    assert settings.splitlines() == [
        "nginx['enable'] = true",
        "# external_url 'x'",
        "external_url 'http://h:9'",
        "puma['worker_processes'] = 4",
    ]


@pytest.mark.parametrize(
    ("filter_", "text", "arguments"),
    [
        ("fpm_workers", POOL, ("32",)),
        ("lift_rate_limits", LIMITS, ()),
        ("allow_local_addresses", HTTP_CLIENT, ()),
        ("gitlab_settings", GITLAB, ("http://h:9", "4")),
    ],
)
def test_a_patch_that_runs_twice_does_no_harm(
    filter_: str, text: str, arguments: tuple[str, ...]
) -> None:
    once = through(filter_, text, *arguments)
    assert through(filter_, once, *arguments) == once != text


def docker_that(directory: Path, body: str) -> dict[str, str]:
    """An environment in which `docker` is this script; it finds what was asked in `$LOG`."""
    program = directory / "docker"
    program.write_text(f'#!/bin/sh\necho "$*" >> "$LOG"\n{body}\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{directory}:{os.environ['PATH']}",
        "LOG": str(directory / "asked.log"),
    }


def test_a_patch_changes_the_file_inside_its_container(tmp_path: Path) -> None:
    inside = tmp_path / "gitlab.rb"
    inside.write_text(GITLAB)
    # `docker exec [-i] CONTAINER COMMAND` carried out right here, and nothing else.
    run_here = '[ "$1" = exec ] || exit 9; shift; [ "$1" = -i ] && shift; shift; exec "$@"'
    script = f'. "{SCRIPTS}/lib.sh"; change gitlab "{inside}" gitlab_settings http://h:9 4'
    subprocess.run(
        ["sh", "-c", script, f"{SCRIPTS}/patch-gitlab.sh"],
        env=docker_that(tmp_path, run_here),
        check=True,
    )
    assert inside.read_text() == through("gitlab_settings", GITLAB, "http://h:9", "4")
    assert not inside.with_suffix(".rb.new").exists()


@pytest.fixture
def site() -> Any:
    with MoodySite() as running:
        yield running


def wait_for(seconds: int, *urls: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", SCRIPTS / "wait-for-ready.sh", str(seconds), *urls],
        env={**os.environ, "WAIT_PAUSE_S": "0.1"},
        capture_output=True,
        text=True,
    )


def test_waiting_ends_when_the_site_is_ready(site: MoodySite) -> None:
    site.fails("/", [502, 502, 503])
    done = wait_for(20, f"{site.url}/", f"{site.url}/two")
    assert (done.returncode, done.stdout.count("ready: ")) == (0, 2)
    assert site.statuses("/") == [502, 502, 503, 200]


def test_waiting_names_what_is_not_ready_in_time(site: MoodySite) -> None:
    site.always["/two"] = 502
    done = wait_for(1, f"{site.url}/", f"{site.url}/two")
    assert done.returncode == 1
    assert done.stderr.strip() == f"not ready: {site.url}/two (502)"


def test_health_is_asked_with_bash_alone(site: MoodySite) -> None:
    site.always["/tile/0/0/0.png"] = 404

    def health(port: int, path: str) -> int:
        command: list[str | Path] = ["bash", SCRIPTS / "http-ok.bash", str(port), path]
        return subprocess.run(command, stderr=subprocess.DEVNULL).returncode

    assert health(site.port, "/status") == 0
    assert health(site.port, "/tile/0/0/0.png") != 0
    with MoodySite() as gone:
        port = gone.port
    assert health(port, "/") != 0


def reset(tmp_path: Path, *sites: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = docker_that(tmp_path, "exit 0") | {
        "RESET_LOCK": str(tmp_path / "lock"),
        "RESET_WAIT_S": "5",
        "WAIT_PAUSE_S": "0.1",
        **more,
    }
    command: list[str | Path] = ["sh", SCRIPTS / "reset.sh", *sites]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_a_reset_makes_new_containers_patches_them_and_waits(
    site: MoodySite, tmp_path: Path
) -> None:
    done = reset(tmp_path, "forum", PUBLIC_HOST="127.0.0.1", FORUM_PORT=str(site.port))
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "asked.log").read_text()
    asked = [line.split("compose.yaml ")[1] for line in log.splitlines()]
    assert [line.split()[0] for line in asked] == ["rm", "up", "up"]
    assert asked[0].strip() == "rm --stop --force forum forum-patch"
    assert "forum-patch" in asked[2]
    assert site.statuses("/") == [200]


def test_only_one_reset_at_a_time(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = reset(tmp_path, "forum")
    assert (done.returncode, done.stderr.strip()) == (75, "a reset is under way")
    assert reset(tmp_path, "wikipedia").returncode == 2


def test_the_stack_tells_crosscheck_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("PUBLIC_HOST=sites.test\nFORUM_PORT=8080\n")
    told = subprocess.run(
        ["sh", SCRIPTS / "settings.sh"],
        env={**os.environ, "ENV_FILE": str(tmp_path / "env")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    settings = dict(line.split("=", 1) for line in told.splitlines())
    hosts = checked_hosts(parse_hosts(settings["SITE_HOSTS"]))
    assert set(hosts) == set(SITES)
    assert hosts["reddit"] == "http://sites.test:8080"
    backends = checked_hosts(parse_hosts(settings["MAP_BACKENDS"]), MAP_PARTS)
    assert set(backends) == set(MAP_PARTS)


def test_the_homepage_leads_to_every_site(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {"__name__": "homepage"}
    exec((STACK / "homepage.py").read_text(), namespace)  # noqa: S102 (it is no module of ours)
    for number, (_, port, _) in enumerate(namespace["SITES"]):
        monkeypatch.setenv(port, str(7000 + number))
    server = namespace["ThreadingHTTPServer"](("127.0.0.1", 0), namespace["Handler"])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        (state,) = probe_sites({"homepage": url})
        assert state.is_ready, state.why
        assert namespace["page"]().count(b"<li>") == 6
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
