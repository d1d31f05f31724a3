"""Requests go to the configured address, with the configured key, and carry nothing else."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.webagent.llm.stub import (
    Answer,
    Fault,
    LLMStub,
    cut_off,
    fail,
    go_wrong,
    refuse,
    running_stub,
    say,
)
from tests.webagent.llm.stub_models import ENVIRONMENT, KEY, NAMES, WHOLE, stub_entry
from webagent.llm import transport
from webagent.llm.client import Client, RetryLimits
from webagent.llm.interface import FailureKind, Message, ModelFailure, Request
from webagent.llm.registry import Registry

every_model = pytest.mark.parametrize("name", NAMES)
one_of_each = pytest.mark.parametrize("name", WHOLE)


@pytest.fixture
def elsewhere() -> Iterator[LLMStub]:
    """A second server, which nothing may reach."""
    with running_stub() as stub:
        yield stub
    assert stub.asked == []


def ask(stub: LLMStub, name: str, **entry: object) -> str:
    registry = Registry({name: stub_entry(stub, name, **entry)})
    with Client(registry, environment=ENVIRONMENT, patience=RetryLimits(max_tries=1)) as client:
        return client.complete(Request(model=name, messages=(Message.user("hello"),))).text


def kind_of_failure(stub: LLMStub, name: str, **entry: object) -> FailureKind:
    with pytest.raises(ModelFailure) as caught:
        ask(stub, name, **entry)
    return caught.value.kind


@every_model
def test_environment_of_the_process_changes_nothing(
    llm_stub: LLMStub, elsewhere: LLMStub, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(variable, elsewhere.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.openai_url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.anthropic_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-the-admin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-custom: secret\nauthorization: Bearer stolen")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-custom: secret\nauthorization: Bearer stolen")
    ask(llm_stub, name)
    headers = llm_stub.asked[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    allowed = {"host", "accept", "accept-encoding", "connection", "content-type"}
    allowed |= {"content-length", "user-agent", "authorization", "anthropic-version"}
    assert headers.keys() <= allowed


@one_of_each
def test_model_without_a_key_sends_none(
    llm_stub: LLMStub, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
    ask(llm_stub, name, api_key_env=None)
    assert "authorization" not in llm_stub.asked[0].headers


@one_of_each
def test_missing_key_is_told_without_asking(llm_stub: LLMStub, name: str) -> None:
    kind = kind_of_failure(llm_stub, name, api_key_env="NOT_SET_ANYWHERE")
    assert kind is FailureKind.NOT_CONFIGURED
    assert llm_stub.asked == []


@every_model
@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.slow
def test_redirects_are_not_followed(
    llm_stub: LLMStub, elsewhere: LLMStub, name: str, status: int
) -> None:
    llm_stub.queue(Answer(status=status, headers={"location": f"{elsewhere.url}/v1/messages"}))
    kind_of_failure(llm_stub, name)
    assert len(llm_stub.asked) == 1


def test_other_address_is_refused_by_the_transport(elsewhere: LLMStub, llm_stub: LLMStub) -> None:
    entry = stub_entry(llm_stub, "stub-chat")
    with (
        transport.http_client(entry, KEY, time.monotonic) as client,
        pytest.raises(httpx2.UnsupportedProtocol),
    ):
        client.post(elsewhere.url + "/v1/messages", json={})


@every_model
def test_configured_proxy_is_used(llm_stub: LLMStub, name: str) -> None:
    """The stub as a proxy is asked for a whole address, which it does not know: 404."""
    registry = stub_entry(
        llm_stub, name, base_url="http://models.example.org/v1", proxy=llm_stub.url
    )
    with (
        Client(
            Registry({name: registry}), environment=ENVIRONMENT, patience=RetryLimits(max_tries=1)
        ) as client,
        pytest.raises(ModelFailure) as caught,
    ):
        client.complete(Request(model=name, messages=(Message.user("hello"),)))
    assert caught.value.kind is FailureKind.REJECTED
    assert "404" in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine that nobody has signed, with its key."""
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    more = ["-subj", "/CN=stub", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([*command.split(), *more, *files], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@one_of_each
def test_server_is_trusted_by_its_authority_alone(
    certificate: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with running_stub(certificate) as stub:
        stub.queue("trusted")
        assert kind_of_failure(stub, name) is FailureKind.UNREACHABLE
        assert stub.asked == []
        assert "trusted" in ask(stub, name, ca_file=f"{certificate}.crt")


@every_model
@pytest.mark.slow
def test_endless_reply_is_cut_short(
    llm_stub: LLMStub, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_REPLY_BYTES", 50_000)
    llm_stub.queue(say("x" * 100_000))
    assert kind_of_failure(llm_stub, name) is FailureKind.UNREADABLE


@every_model
def test_compressed_reply_is_refused(llm_stub: LLMStub, name: str) -> None:
    llm_stub.queue(Answer(text="ok", headers={"content-encoding": "gzip"}))
    assert kind_of_failure(llm_stub, name) is FailureKind.UNREADABLE
    assert llm_stub.asked[0].headers["accept-encoding"] == "identity"


@every_model
def test_connections_are_given_back_after_failures(llm_stub: LLMStub, name: str) -> None:
    """One connection at most: a leak would leave nothing for the next request."""
    failing = [
        go_wrong(fault) for fault in Fault if "silence" not in fault and "never" not in fault
    ]
    llm_stub.queue(*failing, fail(500), refuse(), cut_off("x"))
    entry = stub_entry(llm_stub, name, max_concurrency=1, timeout_s=2.0)
    patience = RetryLimits(max_tries=1)
    request = Request(model=name, messages=(Message.user("hello"),))
    kinds = set()
    with Client(Registry({name: entry}), environment=ENVIRONMENT, patience=patience) as client:
        for _ in range(len(failing) + 3):
            try:
                client.complete(request)
            except ModelFailure as failure:
                kinds.add(failure.kind)
        assert client.complete(request).text
    assert len(kinds) > 3
    assert FailureKind.TIMED_OUT not in kinds
