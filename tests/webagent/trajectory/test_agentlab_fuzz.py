"""Step files, settings and summaries of any shape: read, or refused in words we chose."""

import gzip
import io
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.trajectory.formats import zip_of
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.reading import open_runs

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5)
    | st.sampled_from(["", "click('5')", "fill('a', '\ud800')", "data:image/png;base64,AAAA", "\0"])
)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=6)
            | st.sampled_from(["$class", "messages", "bbox", "role", "message", "text", "value"]),
            inner,
            max_size=4,
        )
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)
OBS_KEYS = [
    "chat_messages",
    "goal",
    "goal_object",
    "open_pages_urls",
    "open_pages_titles",
    "active_page_index",
    "url",
    "extra_element_properties",
    "focused_element_bid",
    "last_action",
    "last_action_error",
    "elapsed_time",
    "axtree_txt",
    "axtree_object",
    "pruned_html",
    "dom_txt",
    "other",
]
STEP_KEYS = [
    "action",
    "agent_info",
    "terminated",
    "truncated",
    "stats",
    "profiling",
    "task_info",
    "raw_reward",
]
INFO_KEYS = ["think", "chat_messages", "stats", "markdown_page", "extra_info", "err_msg"]
OBS = st.fixed_dictionaries({}, optional=dict.fromkeys(OBS_KEYS, ANY))
INFO = st.fixed_dictionaries({}, optional=dict.fromkeys(INFO_KEYS, ANY))
STEP = st.fixed_dictionaries(
    {"step": ANY, "reward": ANY, "obs": OBS | ANY},
    optional=dict.fromkeys(STEP_KEYS, ANY) | {"agent_info": INFO | ANY},
)
ARGS = st.fixed_dictionaries(
    {"env_args": st.fixed_dictionaries({"task_name": st.text(max_size=300)})},
    optional={"agent_args": ANY, "exp_id": ANY, "exp_date": ANY, "exp_name": ANY},
)
SUMMARY = st.dictionaries(
    st.sampled_from(
        [
            "n_steps",
            "cum_reward",
            "err_msg",
            "stack_trace",
            "terminated",
            "truncated",
            "stats.cum_cost",
            "stats.cum_input_tokens",
            "stats.cum_n_retry",
            "stats.cum_step_elapsed",
        ]
    ),
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats() | st.text(max_size=5),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(STEP | ANY, max_size=3),
    args=ARGS | ANY,
    goal=ANY,
    summary=SUMMARY,
    log=st.text(max_size=100),
)
def test_any_content_is_read_or_refused(
    steps: list[Any], args: Any, goal: Any, summary: dict[str, Any], log: str
) -> None:
    content: dict[str, str | bytes] = {
        "run/exp_args.pkl": pickle.dumps(args),
        "run/goal_object.pkl.gz": gzip.compress(pickle.dumps(goal)),
        "run/summary_info.json": json.dumps(summary),
        "run/experiment.log": log.encode("utf-8", "surrogatepass"),
    }
    for number, step in enumerate(steps):
        content[f"run/step_{number}.pkl.gz"] = gzip.compress(pickle.dumps(step))
    with open_runs(io.BytesIO(zip_of(content))) as source:
        (found,) = source
        if not isinstance(found, RunBundle):
            assert not found.reason.startswith("unexpected"), found
            return
        target = io.BytesIO()
        write_zip(target, [found])
    with open_runs(target) as source:
        (again,) = source
        assert isinstance(again, RunBundle), again
        assert again.content_hash == found.content_hash
        assert again.steps == found.steps
