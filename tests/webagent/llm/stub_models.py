"""The stub as models of a registry: every protocol, streamed or not."""

from tests.webagent.llm.stub import LLMStub
from webagent.llm.registry import ModelEntry, Registry

KEY = "sk-stub-0123456789abcdef"
ENVIRONMENT = {"STUB_KEY": KEY}
PRICES = {"input": "2", "cached": "0.5", "cache_write": "2.5", "output": "10"}
_KINDS: dict[str, dict[str, object]] = {
    "stub-responses": {"provider": "openai", "api": "responses"},
    "stub-chat": {"provider": "openai", "api": "chat"},
    "stub-messages": {"provider": "anthropic"},
    "stub-tool": {"provider": "anthropic", "schema_mode": "tool"},
}
WHOLE = tuple(_KINDS)
STREAMED = tuple(f"{name}-streamed" for name in _KINDS)
NAMES = WHOLE + STREAMED


def stub_entry(stub: LLMStub, name: str, **more: object) -> ModelEntry:
    """The entry of one of `NAMES`, priced, with a key; `more` replaces fields."""
    fields = _KINDS[name.removesuffix("-streamed")]
    base_url = stub.anthropic_url if fields["provider"] == "anthropic" else stub.openai_url
    common: dict[str, object] = {
        "name": name,
        "model": f"{name}-id",
        "base_url": base_url,
        "api_key_env": "STUB_KEY",
        "prices": PRICES,
        "timeout_s": 5.0,
        "streaming": name.endswith("-streamed"),
    }
    return ModelEntry.model_validate(common | fields | more)


def stub_registry(stub: LLMStub, **more: object) -> Registry:
    """All of `NAMES`; `more` replaces fields of each."""
    return Registry({name: stub_entry(stub, name, **more) for name in NAMES})
