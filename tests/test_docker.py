"""The compose file parses, and starts the programs that are started by hand."""

from pathlib import Path

import pytest
import yaml

DOCKER = Path(__file__).resolve().parent.parent / "docker"
APPLICATION = {"migrate", "web", "worker", "judge", "browser", "beat"}


@pytest.fixture
def services() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = yaml.safe_load((DOCKER / "compose.yaml").read_text())[
        "services"
    ]
    return found


def test_every_part_is_there(services: dict[str, dict[str, object]]) -> None:
    assert set(services) == APPLICATION | {"postgres", "redis"}


def test_every_queue_has_a_worker(services: dict[str, dict[str, object]]) -> None:
    from django.conf import settings

    queues = {settings.CELERY_TASK_DEFAULT_QUEUE}
    queues |= {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    served: set[str] = set()
    for name in ("worker", "judge", "browser"):
        command = services[name]["command"]
        assert isinstance(command, list)
        served |= set(command[command.index("--queues") + 1].split(","))
    assert served == queues


def test_parts_wait_for_what_they_need(services: dict[str, dict[str, object]]) -> None:
    for name in APPLICATION - {"migrate"}:
        assert services[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }


def test_image_runs_the_web_command_of_the_compose_file(
    services: dict[str, dict[str, object]],
) -> None:
    command = services["web"]["command"]
    assert isinstance(command, list)
    written = "CMD [" + ", ".join(f'"{word}"' for word in command) + "]"
    assert written in (DOCKER / "Dockerfile").read_text()


def test_every_part_gets_the_settings_of_the_environment_file(
    services: dict[str, dict[str, object]],
) -> None:
    for name in APPLICATION:
        assert services[name]["env_file"] == [{"path": ".env", "required": False}]
