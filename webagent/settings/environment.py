"""What the environment may set, parsed once; a bad value stops the start with one line."""

import json
import os
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, NoReturn
from urllib.parse import urlsplit

from pydantic import Field, FilePath, RedisDsn, ValidationError, ValidationInfo, field_validator
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from webagent.environment.placeholders import MAP_PARTS, SITES, checked_hosts, parse_hosts

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def _split_commas(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _read_urls(value: object, names: tuple[str, ...]) -> object:
    """Base URL by site or part of the map, from a JSON object or from `site=URL,site=URL`."""
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
Hosts = Annotated[dict[str, str], NoDecode, BeforeValidator(lambda v: _read_urls(v, SITES))]
Backends = Annotated[dict[str, str], NoDecode, BeforeValidator(lambda v: _read_urls(v, MAP_PARTS))]


class Environment(BaseSettings):
    """Every setting that may come from outside, with its default. Units are in the names.

    `docs/reference_settings.md` is written from this class: a comment is a heading there.
    """

    model_config = SettingsConfigDict(
        case_sensitive=True, extra="ignore", use_attribute_docstrings=True
    )

    # The site
    DATA_DIR: Path = REPOSITORY / "var"
    """Folder of the database, files, queue and uploads."""
    HOST: str = "127.0.0.1"
    """Address on which `make run` and the web server listen."""
    PORT: int = Field(8000, ge=1, le=65535)
    """Port on which they listen."""
    WEB_PROCESSES: int = Field(2, ge=1, le=64)
    """Processes of the web server."""
    WEB_THREADS: int = Field(8, ge=1, le=64)
    """Threads of each process of the web server."""
    SECRET_KEY: str | None = Field(None, min_length=32)
    """Signs sessions. Made at the first start; must be set in production."""
    DATABASE_URL: str | None = None
    """`postgresql://user:password@host/name`. Unset: SQLite in `DATA_DIR`."""
    REDIS_URL: Annotated[str, AfterValidator(_redis_url)] | None = None
    """`redis://host:6379/0`, the broker. Unset: files in `DATA_DIR`."""
    ALLOWED_HOSTS: Words = []
    """Host names under which people reach the site. Must be set in production."""
    CSRF_TRUSTED_ORIGINS: Words = []
    """Origins whose forms are accepted: `https://name`. Must be set in production."""
    PROXIES: int = Field(0, ge=0, le=8)
    """Number of your own reverse proxies in front of the site. Visitors' addresses (audit log,
    lock-out) come from what these append to `X-Forwarded-For`."""
    LANGUAGE: str = Field("en", pattern="^(en|ja)$")
    """Language until a person chooses another one: `en` or `ja`."""
    TIME_ZONE: str = "UTC"
    """Time zone of pages."""

    # Logs and metrics
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR"] | None = None
    """`DEBUG`, `INFO`, `WARNING` or `ERROR`. Unset: `WARNING`, in production `INFO`."""
    METRICS_TOKEN: str | None = Field(None, min_length=16)
    """Bearer token that opens `/metrics` and the details of `/readyz`."""
    METRICS_NETWORKS: Networks = []
    """Networks that may read both without a token: `10.0.0.0/8,fd00::/8`."""
    WORKER_METRICS_PORT: int | None = Field(None, ge=1, le=65535)
    """Port on which workers serve their metrics."""

    # Files
    BLOB_STORAGE: str | None = Field(
        None, pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$"
    )
    """`s3://bucket/prefix` for files and uploads. Unset: folders in `DATA_DIR`. See
    [storage](storage.md)."""
    BLOB_SERVING: Literal["proxied", "presigned"] = "proxied"
    """`presigned` sends browsers to the bucket for pictures and downloads."""
    S3_ENDPOINT_URL: Annotated[str, AfterValidator(_base_url)] | None = None
    """Another S3-compatible service: `http://minio:9000`. Unset: Amazon."""
    S3_PUBLIC_URL: Annotated[str, AfterValidator(_base_url)] | None = None
    """Address of that service for browsers, if it differs."""
    S3_REGION: str = Field("us-east-1", pattern=r"^[a-z0-9-]+$")
    """Region of the bucket."""
    S3_TIMEOUT_S: float = Field(10.0, gt=0)
    """Seconds until one request to the bucket counts as failed."""
    S3_MAX_TRIES: int = Field(3, ge=1, le=10)
    """Tries until the bucket counts as down."""
    ORPHAN_GRACE_S: int = Field(24 * 3600, ge=0)
    """Age in seconds from which a file without a row may be deleted; also how long an upload waits
    for confirmation."""
    ARCHIVE_GRACE_DAYS: float = Field(30.0, ge=0)
    """Days during which an archived run can be restored before it is deleted."""

    # Agents, sites and models
    CHROMIUM_EXECUTABLE: Path | None = None
    """Browser for reruns. Unset: Playwright's own, then the system's."""
    BROWSERS: int | None = Field(None, ge=1, le=256)
    """Runs at a time on this machine, each with its own browser. Unset: by processors and
    memory."""
    SITE_HOSTS: Hosts = {}
    """Addresses of the benchmarks' sites: `shopping=http://h:7770,reddit=http://h:9999`, or a JSON
    object. See [tasks](tasks.md)."""
    MAP_BACKENDS: Backends = {}
    """Services behind the map, for `check_sites`:
    `tiles=http://m:8080,search=http://m:8085`, and `car`, `bike` and `foot` for routes."""
    MODELS_FILE: FilePath | None = None
    """TOML or JSON file that describes the language models. Unset: no model is asked. See
    [models](models.md)."""
    JUDGE_MODEL: str | None = Field(None, min_length=1)
    """Entry of that file that judges and pipelines ask by default."""

    # Runs in the background
    LEASE_S: int = Field(60, ge=5)
    """Seconds until a silent worker loses its work."""
    PUSH_LEASE_S: int = Field(900, ge=5)
    """Seconds until a silent pushed run ends as incomplete."""
    HEARTBEAT_S: int = Field(10, ge=1)
    """Seconds between a worker's signs of life; at most half of `LEASE_S`."""
    SWEEP_INTERVAL_S: int = Field(15, ge=1)
    """Seconds between two sweeps for work of dead workers."""
    RUN_TIME_LIMIT_S: int = Field(1800, ge=10)
    """Seconds that one run may take."""
    MAX_ATTEMPTS: int = Field(3, ge=1, le=10)
    """Attempts at a run that the infrastructure breaks."""
    RETRY_BACKOFF_S: float = Field(5.0, gt=0)
    """Seconds before the second attempt; doubled for each further one."""
    SITE_WAIT_S: float = Field(30.0, gt=0)
    """Seconds between two looks at a site that is not ready."""
    SITE_PATIENCE_S: float = Field(1800.0, ge=0)
    """Seconds until a run gives up waiting for a site."""
    ASSIGNMENT_LEASE_S: int = Field(3600, ge=60)
    """Seconds for which a run stays reserved for an annotator."""

    # Bounds on uploads and the API
    IMPORT_MAX_UPLOAD_BYTES: int = Field(2 * 1024**3, ge=1)
    """Largest upload."""
    UPLOAD_KEEP_DAYS: float = Field(30.0, ge=0)
    """Days for which uploaded files are kept, so that newer importers can read them again; 0 keeps
    none."""
    UPLOAD_KEEP_BYTES: int = Field(20 * 1024**3, ge=0)
    """Space that kept uploads may take together; the oldest are deleted first."""
    UPLOAD_PATIENCE_S: float = Field(30.0, gt=0, le=600)
    """Seconds of silence after which an upload is aborted."""
    IMPORT_MAX_UNPACKED_BYTES: int = Field(20 * 1024**3, ge=1)
    """Unpacked size of an archive."""
    IMPORT_MAX_MEMBERS: int = Field(500_000, ge=1)
    """Files in an archive."""
    IMPORT_MAX_RATIO: int = Field(200, ge=2)
    """Unpacked size by packed size of an archive."""
    IMPORT_MAX_PIXELS: int = Field(50_000_000, ge=1)
    """Pixels of a picture."""
    IMPORT_MAX_JSON_DEPTH: int = Field(64, ge=4)
    """Nesting of JSON."""
    IMPORT_MAX_TEXT_CHARS: int = Field(10_000_000, ge=1000)
    """Characters of one text."""
    IMPORT_MAX_STEPS: int = Field(10_000, ge=1)
    """Steps of a run."""
    IMPORT_MAX_PICKLE_BYTES: int = Field(256 * 1024**2, ge=1)
    """Size of one pickle, unpacked."""
    IMPORT_MAX_FILE_SECONDS: float = Field(20.0, gt=0)
    """Seconds to read one pickle."""
    API_MAX_BODY_BYTES: int = Field(32 * 1024**2, ge=1024)
    """Longest body of an API request other than an upload."""
    API_REQUESTS_PER_MINUTE: int = Field(600, ge=1)
    """Requests of one token in a minute."""

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


BYTES_PER_BROWSER = 1_500_000_000
"""A Chromium with a heavy page, the driver, and the Python process that steers it."""
LEFT_TO_OTHERS = 1_000_000_000

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def browsers_that_fit() -> int:
    """As many as there are processors and memory for, container limits included; at least 1."""
    by_memory = (memory_bytes() - LEFT_TO_OTHERS) // BYTES_PER_BROWSER
    return max(1, min(len(_processors()), by_memory))


def memory_bytes() -> int:
    """The machine's memory, or what this container may use of it."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(found)


def _processors() -> range | set[int]:
    """Those that this process may use."""
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not on this system
        return range(os.cpu_count() or 1)
