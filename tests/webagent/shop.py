"""An environment without a browser that really changes: a form of fields and a button."""

import re
from collections.abc import Mapping

from tests.webagent.made_up import Stage
from tests.webagent.pages import NOON, png
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.live import ActionOutcome, Observation, StepResult
from webagent.trajectory.records import ChatMessage, Json, TabRecord

PICTURE = png(40, 30)
FIELDS = ("a", "b", "c", "d", "e", "f", "g", "h")
GREETING = ChatMessage(role="assistant", text="Hi!")


class Shop(Stage):
    """Fields to fill with `fill('a', 'x')`, a button Login (`click('go')`) that ends it.

    It is solved if all `wanted` fields hold what they should when the button is pressed. `del`
    is a button Delete that empties field a.

    Args:
        changes_at: after the first start, the page shows another text once so many fields are
            filled: what a replay must notice.
        late: so many looks after a start until the page is ready.
        fails_at: number of the action, over all starts, in which it breaks down.
    """

    def __init__(
        self,
        wanted: Mapping[str, str] | None = None,
        *,
        changes_at: int | None = None,
        late: int = 0,
        fails_at: int | None = None,
        scored: bool = True,
        ends_at_message: bool = False,
    ) -> None:
        self.wanted = dict(wanted or {"a": "x"})
        self.starts = 0
        self.actions: list[str] = []
        self.closed = 0
        self._changes_at = changes_at
        self._late = late
        self._fails_at = fails_at
        self._scored = scored
        self._ends_at_message = ends_at_message
        self._start(None)

    @property
    def state(self) -> dict[str, str]:
        """What the fields hold."""
        return dict(self._fields)

    def reset(self, seed: int | None) -> Observation:
        self.starts += 1
        self._start(seed)
        return self._see()

    def step(self, action: str) -> StepResult:
        self.actions.append(action)
        if len(self.actions) == self._fails_at:
            raise EnvironmentFailure("the shop burnt down")
        error, pressed = None, False
        if filled := re.fullmatch(r"fill\('(\w)', '(\w*)'\)", action):
            self._fields[filled[1]] = filled[2]
        elif action == "click('go')":
            pressed = True
        elif action == "click('del')":
            self._fields["a"] = ""
        elif said := re.fullmatch(r"send_msg_to_user\('(.*)'\)", action):
            self._said += (ChatMessage(role="assistant", text=said[1]),)
        elif not re.fullmatch(r"noop\(\d*\)|scroll\(0, \d+\)", action):
            error = f"ValueError: {action}"
        solved = pressed and all(self._fields[key] == self.wanted[key] for key in self.wanted)
        spoken = self._ends_at_message and len(self._said) > 1
        return StepResult(
            observation=self._see(last_error=error),
            reward=float(solved),
            scored=self._scored,
            terminated=pressed or spoken,
            error=error,
            outcomes=(ActionOutcome(executed=True, error=error),),
        )

    def evidence(self, evaluation: Json | None) -> Json:
        return {"fields": dict(self._fields)}

    def close(self) -> None:
        self.closed += 1

    def _start(self, seed: int | None) -> None:
        self._seed = seed
        self._fields = dict.fromkeys(FIELDS, "")
        self._said: tuple[ChatMessage, ...] = (GREETING,)
        self._looks = 0

    def _see(self, last_error: str | None = None) -> Observation:
        self._looks += 1
        lines = [f"RootWebArea 'Shop {self._seed}'"]
        filled = sum(bool(value) for value in self._fields.values())
        if self.starts > 1 and self._changes_at is not None and filled >= self._changes_at:
            lines.append("\tStaticText 'Sold out'")
        if self.starts > 1 and self._looks <= self._late:
            lines.append("\tStaticText 'Loading'")
        lines += [f"\t[{key}] textbox '{key}' value='{v}'" for key, v in self._fields.items()]
        lines += ["\t[go] button 'Login'", "\t[del] button 'Delete'"]
        return Observation(
            at=NOON,
            goal="Fill in a.",
            url="http://shop.test/?sid=" + str(self.starts),
            title="Shop",
            tabs=(TabRecord(url="http://shop.test/", active=True),),
            screenshot=PICTURE,
            width=40,
            height=30,
            axtree="\n".join(lines),
            messages=self._said,
            last_error=last_error,
        )
