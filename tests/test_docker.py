"""What stands in docker/ parses, agrees with the code, and gives away no more than it must."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class
from prometheus_client import REGISTRY

from runs.operations.health import probes
from runs.operations.health.probes import PROBES
from runs.operations.management.commands import work
from runs.queue.workers import all_duties
from webagent import web_server
from webagent.settings.environment import Environment

ROOT = Path(__file__).resolve().parent.parent
DOCKER = ROOT / "docker"
WORKERS = {"worker", "judge", "browser"}
APPLICATION = {"migrate", "web", "backup"} | WORKERS
OTHERS = {"proxy", "postgres", "redis"}
LASTING = (APPLICATION | OTHERS) - {"migrate", "backup"}

Service = dict[str, Any]


def parsed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / name).read_text())
    return found


@pytest.fixture(scope="module")
def services() -> dict[str, Service]:
    found: dict[str, Service] = parsed("compose.yaml")["services"]
    return found


def test_every_part_is_there(services: dict[str, Service]) -> None:
    assert set(services) == APPLICATION | OTHERS


def test_every_queue_has_a_worker(services: dict[str, Service]) -> None:
    served: set[str] = set()
    for name in WORKERS:
        python, manage, *arguments = services[name]["command"]
        assert (python, manage) == ("python", "manage.py")
        parser = load_command_class("runs.operations", arguments[0]).create_parser(
            "manage.py", arguments[0]
        )
        served |= set(parser.parse_args(arguments[1:]).queues)
    assert served == all_duties()


def test_parts_wait_for_what_they_need(services: dict[str, Service]) -> None:
    for name in APPLICATION - {"migrate"}:
        needed = services[name]["depends_on"]
        assert needed == {"migrate": {"condition": "service_completed_successfully"}}
    assert services["proxy"]["depends_on"] == {"web": {"condition": "service_healthy"}}


def test_image_runs_the_web_command_of_the_compose_file(services: dict[str, Service]) -> None:
    command = services["web"]["command"]
    written = "CMD [" + ", ".join(f'"{word}"' for word in command) + "]"
    assert written in (DOCKER / "Dockerfile").read_text()
    assert command[-1] == f"python:{web_server.__name__}"


def test_our_parts_may_do_little(services: dict[str, Service]) -> None:
    for name in APPLICATION:
        service = services[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["env_file"] == [{"path": ".env", "required": True}]


def test_what_lasts_is_restarted_watched_and_bounded(services: dict[str, Service]) -> None:
    for name in LASTING:
        service = services[name]
        assert service["restart"] == "unless-stopped"
        assert service["mem_limit"]
        assert service["logging"]["options"]["max-size"]
    for name in WORKERS | {"postgres", "redis"}:
        assert services[name]["healthcheck"]["test"]


def test_only_the_proxy_is_reached_from_outside(services: dict[str, Service]) -> None:
    assert {name for name, service in services.items() if "ports" in service} == {"proxy"}
    assert services["proxy"]["networks"] == ["edge"]
    assert {name for name, each in services.items() if "edge" in each["networks"]} == {
        "proxy",
        "web",
    }
    # One proxy stands before the web processes, and its word on the visitor's address counts.
    assert services["web"]["environment"]["PROXIES"] == "1"


def test_a_worker_may_end_what_it_has_begun(services: dict[str, Service]) -> None:
    for name in WORKERS:
        assert services[name]["stop_grace_period"] == "2m"
    assert work.STOP_LIMIT_S < 120
    grace_s = int(services["web"]["stop_grace_period"].removesuffix("s"))
    assert web_server.graceful_timeout < grace_s


def test_the_image_is_held_to_hashes_and_runs_as_nobody_in_particular() -> None:
    words = (DOCKER / "Dockerfile").read_text()
    assert "--require-hashes" in words
    assert "--only-binary :all:" in words
    last = words.split("\nFROM ")[-1]
    assert "USER 1000" in last
    assert "HEALTHCHECK" in last
    assert "/livez" in last
    for tool in ("build-essential", "gcc", "-dev "):
        assert tool not in words
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = [line for line in lines if re.match(r"[a-z]", line, re.IGNORECASE)]
    assert pinned
    for line in pinned:
        assert re.fullmatch(r"[\w.\-]+==\S+( ; .+)? \\", line), line


def test_secrets_stay_out_of_image_and_repository() -> None:
    assert "docker/.env" in (ROOT / ".dockerignore").read_text().splitlines()
    assert "/docker/.env" in (ROOT / ".gitignore").read_text().splitlines()
    example = (DOCKER / "env.example").read_text()
    for secret in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "METRICS_TOKEN"):
        assert re.search(rf"^{secret}=$", example, re.MULTILINE)


def test_whatever_is_set_is_a_setting_and_whatever_is_asked_for_is_in_the_example() -> None:
    compose = (DOCKER / "compose.yaml").read_text()
    example = set(re.findall(r"^#? ?([A-Z_]+)=", (DOCKER / "env.example").read_text(), re.M))
    asked = set(re.findall(r"\$\{([A-Z_]+):\?", compose))
    assert asked <= example
    for_compose = {"SITE_ADDRESS", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "BACKUPS"}
    for_compose |= {"BROWSER_MEMORY", "POSTGRES_MEMORY"}
    assert example - for_compose <= set(Environment.model_fields)
    given = set(parsed("compose.yaml")["x-app"]["environment"])
    given |= set(parsed("compose.yaml")["x-worker"]["environment"])
    assert given <= set(Environment.model_fields)


def test_the_proxy_lets_uploads_through_and_keeps_probes_in() -> None:
    words = (DOCKER / "Caddyfile").read_text()
    found = re.search(r"max_size (\d+)MB", words)
    assert found
    assert int(found[1]) * 10**6 > Environment.model_fields["IMPORT_MAX_UPLOAD_BYTES"].default
    inner = re.search(r"@inner path (.+)", words)
    assert inner
    assert set(inner[1].split()) == set(PROBES) - {"/livez", "/healthz"}


def test_the_proxys_own_pages_may_look_as_they_do() -> None:
    words = (DOCKER / "Caddyfile").read_text()
    [style] = re.findall(r"<style>(.*)</style>", words)
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in words


def test_alerts_ask_for_what_is_counted() -> None:
    known = {name for names in REGISTRY._collector_to_names.values() for name in names}
    known |= {
        f"crosscheck_{name}"
        for name in re.findall(r'_gauge\(\s*"(\w+)"', Path(probes.__file__).read_text())
    }
    rules = parsed("alerts.yml")["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("page", "ticket")
        asked = set(re.findall(r"crosscheck_\w+", rule["expr"]))
        assert asked <= known, rule["alert"]


@pytest.mark.parametrize("name", ["compose.monitoring.yaml", "compose.shared.yaml"])
def test_files_that_are_laid_over_it_fit(name: str, services: dict[str, Service]) -> None:
    laid_over = parsed(name)["services"]
    assert set(laid_over) - set(services) <= {"prometheus"}
    for job in parsed("prometheus.yml")["scrape_configs"]:
        assert set(job["dns_sd_configs"][0]["names"]) <= set(services)
