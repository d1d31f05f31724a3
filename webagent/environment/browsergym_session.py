"""One task in one browser, driven through BrowserGym. Everything here stays in one thread."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import playwright.sync_api
from browsergym.core.action import functions
from browsergym.core.action.base import execute_python_code
from browsergym.core.action.highlevel import ACTION_SUBSETS, HighLevelActionSet
from browsergym.core.env import BrowserEnv
from pydantic import JsonValue

from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import (
    live_observation,
    start_playwright,
    stop_playwright,
)
from webagent.environment.browsergym_task import (
    RetryWaits,
    SiteWaits,
    TaskEntrypoint,
    WatchedTask,
    site_retry,
)
from webagent.environment.interface import EnvironmentFailure, fault_of
from webagent.environment.network import (
    BrokenPage,
    NetworkWatch,
    capture_evidence,
    check_destination,
)
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import ActionOutcome, Observation, StepResult
from webagent.trajectory.records import ActionRecord, Json

logger = logging.getLogger(__name__)

# Uploads read files of this machine, and an agent does what hostile pages talk it into.
REFUSED_ACTIONS = (functions.upload_file, functions.mouse_upload_file)
PHASES = {
    "action_exec": "action",
    "wait_for_page_loading": "loading",
    "validation": "validation",
    "get_observation": "observation",
}


@cache
def action_set() -> HighLevelActionSet:
    """All of BrowserGym's actions by element, by coordinate, and on tabs, but for uploads.

    Nobody changes it, and making one takes longer than a step.
    """
    names = ("chat", "infeas", "bid", "coord", "nav", "tab")
    allowed = [function for name in names for function in ACTION_SUBSETS[name]]
    return HighLevelActionSet(
        subsets=["custom"],
        custom_actions=[function for function in allowed if function not in REFUSED_ACTIONS],
    )


class BrowserGymSession:
    """A BrowserGym environment with its own Playwright.

    Args:
        delay_s: how long a page may settle after an action before it is looked at.
    """

    def __init__(
        self,
        entrypoint: TaskEntrypoint,
        task_arguments: Mapping[str, Any],
        settings: BrowserSettings,
        hosts: Hosts,
        *,
        delay_s: float,
        patience: RetryWaits,
    ) -> None:
        self._hosts = hosts
        self._patience = patience
        self.waits = SiteWaits()
        self._earlier: tuple[Json, ...] = ()
        self._actions = action_set()
        self._milestones: dict[str, bool] = {}
        self._launcher = start_playwright(settings, hosts)
        self._env = BrowserEnv(
            task_entrypoint=lambda seed: WatchedTask(
                entrypoint(seed=seed, **task_arguments), hosts, patience, self.waits
            ),
            headless=settings.headless,
            pre_observation_delay=delay_s,
            pw_context_kwargs={"accept_downloads": False},
        )

    @property
    def browser_pids(self) -> Sequence[int]:
        """Process ids of its browsers; other threads may read them."""
        return self._launcher.pids

    @property
    def version(self) -> str:
        """The browser's own version, once it runs."""
        return str(self._env.browser.version)

    @property
    def viewport(self) -> Mapping[str, int]:
        """Width and height of the page in CSS pixels."""
        size: Mapping[str, int] = self._env.task.viewport
        return size

    def reset(self, seed: int | None) -> Observation:
        """The first observation. A site that is out of order for a moment is tried again.

        The whole start is repeated, log-in included: a task that was set up on an error page
        may have read a wrong goal from it.
        """
        tried = 0
        while True:
            try:
                return self._start(seed)
            except EnvironmentFailure as failure:
                may_pass = any(page.may_pass for page in self._broken_pages())
                wait_s = self._patience.wait_s(tried, [failure]) if may_pass else None
                if wait_s is None:
                    raise
                tried += 1
                again = site_retry(failure, tried, wait_s)
                self._earlier = (*self._earlier, *self._watch.take(), again)
                self.waits.wait(wait_s)
                self._launcher.pids.clear()  # BrowserGym closes that browser now

    def _start(self, seed: int | None) -> Observation:
        try:
            obs, info = self._env.reset(seed=seed)
            scored = not (info.get("task_info") or {}).get("unscored")
            observation = replace(live_observation(obs), scored=scored)
        except EnvironmentFailure:
            raise
        except Exception as error:  # whatever it is, no agent has acted yet
            raise self._failure(error, starting=True) from error
        if self._watch.failure is not None:
            raise self._watch.failure
        return observation

    def _broken_pages(self) -> Sequence[BrokenPage]:
        watch = getattr(self._env.task, "watch", None)
        return watch.broken() if isinstance(watch, NetworkWatch) else ()

    def step(self, action: str) -> StepResult:
        calls = parse_browsergym_actions(action)
        self._env.last_action = action
        info, send_message, report_infeasible = self._env.pre_step()
        outcomes = self._execute(calls, send_message, report_infeasible)
        error = next((outcome.error for outcome in outcomes if outcome.error), None)
        self._env.last_action_error = error or ""
        try:
            obs, reward, terminated, truncated, info = self._env.post_step(info)
            observation = live_observation(obs)
        except Exception as caught:  # the action itself is over: not the agent's
            raise self._failure(caught) from caught
        watch = self._watch
        if watch.failure is not None and not terminated:
            raise watch.failure
        events, self._earlier = (*self._earlier, *watch.take()), ()
        task_info = _plain_json(info.get("task_info") or {})
        self._milestones = _milestones(task_info)
        return StepResult(
            observation=observation,
            reward=float(reward),
            raw_reward=_number(task_info.get("RAW_REWARD_GLOBAL")),
            scored=not task_info.get("unscored"),
            terminated=bool(terminated),
            truncated=bool(truncated),
            gave_up=bool(self._env.infeasible_message_received),
            error=error,
            outcomes=outcomes,
            events=events,
            task_info=task_info,
            seconds=_seconds(info),
            milestones=self._milestones,
        )

    def milestones(self) -> Mapping[str, bool]:
        return self._milestones

    def evidence(self, evaluation: Json | None) -> Json:
        env = self._env
        page, history = env.page, env.page_history.copy()
        try:
            return capture_evidence(page, evaluation, self._hosts)
        except playwright.sync_api.Error as error:
            raise self._failure(error) from error
        finally:
            # BrowserGym takes every new page for the one that the agent turned to.
            env.page, env.page_history = page, history

    def close(self) -> None:
        """End browser and driver, each whatever the one before did."""
        try:
            self._env.close()
        except Exception:  # a task's clean-up may do anything; the browser must go
            logger.warning("BrowserGym did not close cleanly.", exc_info=True)
        finally:
            stop_playwright()

    @property
    def _watch(self) -> Any:
        return self._env.task.watch

    def _execute(
        self, calls: tuple[ActionRecord, ...], send_message: Any, report_infeasible: Any
    ) -> tuple[ActionOutcome, ...]:
        """How each call went. As in BrowserGym, one bad call keeps all from being tried."""
        try:
            self._check(calls)
        except (ValueError, NameError) as error:
            message = f"{type(error).__name__}: {error}"
            return tuple(ActionOutcome(executed=False, error=message) for _ in calls)
        outcomes: list[ActionOutcome] = []
        for call in calls:
            if outcomes and outcomes[-1].error:
                outcomes.append(ActionOutcome(executed=False))
                continue
            outcomes.append(self._execute_one(call, send_message, report_infeasible))
        return tuple(outcomes)

    def _execute_one(
        self, call: ActionRecord, send_message: Any, report_infeasible: Any
    ) -> ActionOutcome:
        started_at = datetime.now(UTC)
        error = None
        try:
            code = self._actions.to_python_code(str(call.raw))
            execute_python_code(
                code,
                self._env.page,
                send_message_to_user=send_message,
                report_infeasible_instructions=report_infeasible,
            )
        except Exception as caught:  # any error of an action is news for the agent
            error = f"{type(caught).__name__}: {caught}"
            if not self._env.browser.is_connected() or _says_crashed(caught):
                raise EnvironmentFailure(error, Fault.BROWSER_CRASH) from caught
        return ActionOutcome(
            executed=True, error=error, started_at=started_at, ended_at=datetime.now(UTC)
        )

    def _check(self, calls: tuple[ActionRecord, ...]) -> None:
        for call in calls:
            if call.name is None:
                raise ValueError("Received an empty action.")
            if call.name not in self._actions.action_set:
                raise NameError(f"Invalid action type '{call.name}'.")
            if call.name == "goto":
                url = call.args[0] if call.args else (call.named_args or {}).get("url")
                check_destination(str(url), self._hosts)

    def _failure(self, error: Exception, *, starting: bool = False) -> EnvironmentFailure:
        """What an exception of BrowserGym, Playwright or the task means for the run."""
        task = self._env.task
        watch = getattr(task, "watch", None)
        if watch is not None and watch.failure is not None:
            known: EnvironmentFailure = watch.failure
            return known
        browser = self._env.browser
        # Packages ask their sites before there is a browser; Playwright is asked for one later.
        is_before = starting and browser is None and not _is_of_playwright(error)
        is_gone = not is_before and (browser is None or not browser.is_connected())
        fault = Fault.BROWSER_CRASH if is_gone else fault_of(error, starting=starting)
        return EnvironmentFailure(f"{type(error).__name__}: {error}", fault)


def _is_of_playwright(error: Exception) -> bool:
    return isinstance(error, playwright.sync_api.Error)


def _says_crashed(error: Exception) -> bool:
    """Whether Playwright says so itself: below its first line it quotes the page."""
    return _is_of_playwright(error) and "crashed" in str(error).split("\n")[0]


def _milestones(task_info: Json) -> dict[str, bool]:
    reached = task_info.get("milestones")
    if not isinstance(reached, dict):
        return {}
    return {str(name): bool(value) for name, value in reached.items()}


def _plain_json(info: Mapping[str, Any]) -> Json:
    """What a task says of itself, with everything that JSON has no word for as text."""
    plain: Json = json.loads(json.dumps(info, default=str))
    return plain


def _number(value: JsonValue) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _seconds(info: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: round(info[f"{phase}_stop"] - info[f"{phase}_start"], 4)
        for phase, name in PHASES.items()
        if f"{phase}_start" in info and f"{phase}_stop" in info
    }
