"""What the environment may set, parsed once; a bad value stops the start with one line."""

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, NoReturn
from urllib.parse import urlsplit

from pydantic import Field, FilePath, RedisDsn, ValidationError, ValidationInfo, field_validator
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from webagent.placeholders import MAP_PARTS, SITES, checked_hosts, parse_hosts

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def _split_commas(value: object) -> object:
    return (
        [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, str)
        else value
    )


def _read_hosts(value: object) -> object:
    """Base URL by site, from a JSON object or from `site=URL,site=URL`."""
    return _read_urls(value, SITES)


def _read_backends(value: object) -> object:
    """Base URL by part of the map, in the same forms."""
    return _read_urls(value, MAP_PARTS)


def _read_urls(value: object, names: tuple[str, ...]) -> object:
    hosts = value
    if isinstance(value, str):
        is_json = value.lstrip().startswith("{")
        hosts = json.loads(value, object_pairs_hook=_once) if is_json else parse_hosts(value)
    if isinstance(hosts, dict) and all(isinstance(url, str) for url in hosts.values()):
        return checked_hosts(hosts, names)
    raise ValueError("must name a URL for each site")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a site is named twice")
    return named


def _redis_url(value: str) -> str:
    """The address as it was given, once it is one of a Redis; empty is none."""
    if value:
        RedisDsn(value)
    return value


def _base_url(value: str) -> str:
    """Scheme, host and perhaps port of a service, and nothing else: no log-in, path or query."""
    parts = urlsplit(value)
    plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    if not plain or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError("must be like https://host:port")
    return f"{parts.scheme}://{parts.netloc}"


def _networks(values: list[str]) -> list[str]:
    for value in values:
        ip_network(value)
    return values


Words = Annotated[list[str], NoDecode, BeforeValidator(_split_commas)]
Networks = Annotated[Words, AfterValidator(_networks)]
Hosts = Annotated[dict[str, str], NoDecode, BeforeValidator(_read_hosts)]
Backends = Annotated[dict[str, str], NoDecode, BeforeValidator(_read_backends)]


class Environment(BaseSettings):
    """Every setting that may come from outside, with its default. Units are in the names."""

    model_config = SettingsConfigDict(case_sensitive=True, extra="ignore")

    DATA_DIR: Path = REPOSITORY / "var"
    HOST: str = "127.0.0.1"
    PORT: int = Field(8000, ge=1, le=65535)
    WEB_PROCESSES: int = Field(2, ge=1, le=64)
    WEB_THREADS: int = Field(8, ge=1, le=64)
    SECRET_KEY: str | None = Field(None, min_length=32)
    DATABASE_URL: str | None = None
    REDIS_URL: Annotated[str, AfterValidator(_redis_url)] | None = None
    ALLOWED_HOSTS: Words = []
    CSRF_TRUSTED_ORIGINS: Words = []
    PROXIES: int = Field(0, ge=0, le=8)
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR"] | None = None
    METRICS_TOKEN: str | None = Field(None, min_length=16)
    METRICS_NETWORKS: Networks = []
    WORKER_METRICS_PORT: int | None = Field(None, ge=1, le=65535)
    BLOB_STORAGE: str | None = Field(
        None, pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$"
    )
    BLOB_SERVING: Literal["proxied", "presigned"] = "proxied"
    S3_ENDPOINT_URL: Annotated[str, AfterValidator(_base_url)] | None = None
    S3_PUBLIC_URL: Annotated[str, AfterValidator(_base_url)] | None = None
    S3_REGION: str = Field("us-east-1", pattern=r"^[a-z0-9-]+$")
    S3_TIMEOUT_S: float = Field(10.0, gt=0)
    S3_MAX_TRIES: int = Field(3, ge=1, le=10)
    LANGUAGE: str = Field("en", pattern="^(en|ja)$")
    TIME_ZONE: str = "UTC"
    CHROMIUM_EXECUTABLE: Path | None = None
    BROWSERS: int | None = Field(None, ge=1, le=256)
    SITE_HOSTS: Hosts = {}
    MAP_BACKENDS: Backends = {}
    MODELS_FILE: FilePath | None = None
    JUDGE_MODEL: str | None = Field(None, min_length=1)

    # Runs in the background
    LEASE_S: int = Field(60, ge=5)
    PUSH_LEASE_S: int = Field(900, ge=5)
    HEARTBEAT_S: int = Field(10, ge=1)
    SWEEP_INTERVAL_S: int = Field(15, ge=1)
    RUN_TIME_LIMIT_S: int = Field(1800, ge=10)
    MAX_ATTEMPTS: int = Field(3, ge=1, le=10)
    RETRY_BACKOFF_S: float = Field(5.0, gt=0)
    SITE_WAIT_S: float = Field(30.0, gt=0)
    SITE_PATIENCE_S: float = Field(1800.0, ge=0)

    # Bounds on what comes from outside
    IMPORT_MAX_UPLOAD_BYTES: int = Field(2 * 1024**3, ge=1)
    UPLOAD_KEEP_DAYS: float = Field(30.0, ge=0)
    UPLOAD_KEEP_BYTES: int = Field(20 * 1024**3, ge=0)
    UPLOAD_PATIENCE_S: float = Field(30.0, gt=0, le=600)
    IMPORT_MAX_UNPACKED_BYTES: int = Field(20 * 1024**3, ge=1)
    IMPORT_MAX_MEMBERS: int = Field(500_000, ge=1)
    IMPORT_MAX_RATIO: int = Field(200, ge=2)
    IMPORT_MAX_PIXELS: int = Field(50_000_000, ge=1)
    IMPORT_MAX_JSON_DEPTH: int = Field(64, ge=4)
    IMPORT_MAX_TEXT_CHARS: int = Field(10_000_000, ge=1000)
    IMPORT_MAX_STEPS: int = Field(10_000, ge=1)
    IMPORT_MAX_PICKLE_BYTES: int = Field(256 * 1024**2, ge=1)
    IMPORT_MAX_FILE_SECONDS: float = Field(20.0, gt=0)

    # The API
    API_MAX_BODY_BYTES: int = Field(32 * 1024**2, ge=1024)
    API_REQUESTS_PER_MINUTE: int = Field(600, ge=1)

    # People
    ASSIGNMENT_LEASE_S: int = Field(3600, ge=60)
    ORPHAN_GRACE_S: int = Field(24 * 3600, ge=0)
    ARCHIVE_GRACE_DAYS: float = Field(30.0, ge=0)

    @field_validator("HEARTBEAT_S")
    @classmethod
    def _beats_within_a_lease(cls, seconds: int, known: ValidationInfo) -> int:
        lease_s = known.data.get("LEASE_S", 0)
        if lease_s and 2 * seconds > lease_s:
            raise ValueError(f"must be at most half of LEASE_S ({lease_s} s): one beat may be late")
        return seconds


SECRET_NAMES = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "METRICS_TOKEN")


def _stop(error: ValidationError) -> NoReturn:
    problems = []
    for item in error.errors():
        name = ".".join(map(str, item["loc"]))
        given = "" if name in SECRET_NAMES else f" (got {item['input']!r})"
        problems.append(f"{name}: {item['msg']}{given}")
    raise SystemExit("Crosscheck cannot start, a setting is wrong: " + "; ".join(problems))


def read_environment() -> Environment:
    """The settings of this process.

    Raises:
        SystemExit: with one line naming every setting that is wrong and why.
    """
    try:
        return Environment()
    except ValidationError as error:
        _stop(error)
