"""Compare a run that was read with what the real classes said was in its folder."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.agentlab.endings import said_to_user
from webagent.trajectory.records import BlobPart, Observation, TextPart

END_REASONS = {
    "task ended": {"task_ended"},
    "max_steps": {"max_steps"},
    "exception": {"exception"},
    "agent returned no action": {"agent_gave_up"},
    # AgentLab knows no more; the steps and the log tell these apart.
    "no summary": {"killed", "never_started", "exception", "task_ended"},
}


def differences(bundle: RunBundle, truth: dict[str, Any]) -> Iterator[str]:
    """Each way in which the run is not as its truth says: nothing if all is right."""
    for name, (found, expected) in _pairs(bundle, truth).items():
        if found != expected:
            yield f"{name}: {found!r} instead of {expected!r}"
    if bundle.run.end_reason not in END_REASONS[truth["end_reason"]]:
        yield f"end_reason: {bundle.run.end_reason} instead of {truth['end_reason']}"


def _pairs(bundle: RunBundle, truth: dict[str, Any]) -> dict[str, tuple[object, object]]:
    run, steps = bundle.run, bundle.steps
    chosen = [action for action in truth["actions"] if action is not None]
    n = len(chosen)
    # The files tell an action's error and reward one file later, and have one file more.
    errors = [error or None for error in truth["action_errors"][1 : n + 1]]
    rewards = truth["rewards"][1 : n + 1]
    acting = [step for step in steps if step.actions]
    seen = _observations(bundle)
    chat = next((o.chat for o in reversed(seen) if o.chat), ())
    totals = run.totals
    cost = Decimal(str(truth["cost"]))
    return {
        "task": (bundle.task.external_id, truth["task"]),
        "seed": (run.seed, truth["seed"]),
        "max_steps": (run.max_steps, truth["max_steps"]),
        "agent": (run.agent.name, truth["agent"]),
        "loop_class": (run.source.format_version, truth["loop_class"]),
        "actions": (["".join(str(a.raw) for a in step.actions) for step in acting], chosen),
        "thoughts": ([step.thought for step in acting], truth["thoughts"][:n]),
        "urls": ([o.url for o in seen], truth["urls"]),
        "action errors": ([_error(step.actions) for step in acting[: len(errors)]], errors),
        "n_action_errors": (
            sum(_error(s.actions) is not None for s in steps),
            len([e for e in errors if e]),
        ),
        "rewards": ([step.reward for step in acting[: len(rewards)]], rewards),
        "cum_reward": (run.reward, truth["cum_reward"]),
        "outcome": (run.outcome, truth["outcome"]),
        "err_msg": (
            run.error.message if run.error and truth["has_summary"] else None,
            truth["err_msg"],
        ),
        "stack": (
            bool(run.error and run.error.stack) if truth["has_summary"] else False,
            truth["has_stack_trace"],
        ),
        "n_screenshots": (bundle.n_screenshots, truth["n_screenshots"]),
        "n_som": (sum(o.marked_screenshot is not None for o in seen), truth["n_som"]),
        "goal_text": (
            "".join(part.text for part in run.goal if isinstance(part, TextPart)),
            truth["goal_text"],
        ),
        "n_goal_images": (sum(isinstance(p, BlobPart) for p in run.goal), truth["n_goal_images"]),
        "messages_to_user": (said_to_user(chat), truth["messages_to_user"]),
        "final_answer": (run.final_answer, (truth["messages_to_user"] or [None])[-1]),
        "infeasible": (run.infeasible_claim, (truth["infeasible"] or [None])[-1]),
        "input_tokens": (totals.input_tokens or 0, truth["input_tokens"]),
        "output_tokens": (totals.output_tokens or 0, truth["output_tokens"]),
        # The truth is rounded to millionths.
        "cost": (abs((totals.cost or Decimal(0)) - cost) < Decimal("0.000001"), True),
        "n_retry": (totals.retries or 0, truth["n_retry"]),
        "model": (run.models, (truth["model"],) if truth["model"] else ()),
        "hidden": (run.superseded_by is not None, truth["hidden_by_agentlab"]),
        "summary": (
            any(a.name == "summary_info.json" for a in run.artefacts),
            truth["has_summary"],
        ),
        "longest repetition": (_longest(chosen), truth["longest_same_action_run"]),
        "n_steps": (len(steps), max(n, min(truth["n_step_files"], 1))),
    }


def _observations(bundle: RunBundle) -> list[Observation]:
    """One per step file, in order."""
    found = [step.before for step in bundle.steps]
    found += [step.after for step in bundle.steps]
    return [observation for observation in found if observation is not None]


def _error(actions: tuple[Any, ...]) -> str | None:
    return next((action.error for action in actions if action.error), None)


def _longest(actions: list[str]) -> int:
    longest = current = 0
    previous = None
    for action in actions:
        current = current + 1 if action == previous else 1
        longest, previous = max(longest, current), action
    return longest
