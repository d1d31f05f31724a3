"""Calls, pictures and addresses of a trace, put together as steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from webagent.trajectory.assembling import URL_CHARS, UnreadableError, clean
from webagent.trajectory.playwright.calls import action_of, looked, only_looks
from webagent.trajectory.playwright.events import Call, Frame, Seen, TraceEvents
from webagent.trajectory.records import BlobRecord, Observation, StepRecord
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.untyped import moment

OfPage = TypeVar("OfPage", Frame, Seen)


class Steps:
    """Puts calls, pictures and addresses together."""

    def __init__(self, files: RunFiles, trace: TraceEvents, run_id: str) -> None:
        self._files = files
        self._trace = trace
        self._run_id = run_id
        self._pictures: dict[str, BlobRecord | None] = {}
        self._frames_of = _by_page(trace.frames)
        self._seen_of = _by_page(trace.seen)

    def records(self) -> Iterator[StepRecord]:
        """A step for each call that does something; the calls that only look are its events."""
        calls = self._trace.calls
        acting = [call for call in calls if not only_looks(call)] or calls
        doing = {id(call) for call in acting}
        waiting: list[dict[str, Any]] = []
        done: list[StepRecord] = []
        for call in calls:
            if id(call) in doing:
                done.append(self._step(len(done), call, waiting))
                waiting = []
            else:
                waiting.append(looked(self._files, self._trace, call))
        if waiting and done:
            done[-1] = done[-1].model_copy(update={"events": (*done[-1].events, *waiting)})
        yield from done

    def _step(self, index: int, call: Call, events: list[dict[str, Any]]) -> StepRecord:
        if index >= self._files.bounds.steps_per_run:
            reason = f"more than {self._files.bounds.steps_per_run} steps"
            raise UnreadableError("", "steps", reason)
        page = call.page or self._page_at(call.start)
        frame = self._frame(call.start, page, before=True)
        before = self._seen(call.start, page, frame, before=True)
        picture = before.screenshot if before else None
        action = action_of(self._files, self._trace, call, picture, frame)
        later = page or self._page_at(call.end)
        left = self._frame(call.end, later, before=False)
        return StepRecord(
            run_id=self._run_id,
            index=index,
            before=before,
            actions=(action,),
            after=self._seen(call.end, later, left, before=False),
            events=tuple(events),
            started_at=action.started_at,
            ended_at=action.ended_at,
            extra={"log": [clean(self._files, line) for line in call.log]} if call.log else None,
        )

    def _page_at(self, at: float | None) -> str | None:
        """The page that was last seen at a moment: newer traces do not tell it with the call."""
        if at is None:
            return None
        place = bisect_right(self._trace.seen, at, key=lambda seen: seen.at)
        frame = bisect_right(self._trace.frames, at, key=lambda frame: frame.at)
        known = [self._trace.seen[place - 1]] if place else []
        last = self._trace.frames[frame - 1] if frame else None
        if last is not None and (not known or last.at > known[0].at):
            return last.page
        return known[0].page if known else None

    def _frame(self, at: float | None, page: str | None, *, before: bool) -> Frame | None:
        """The last picture of a page before a moment, or the first one after it."""
        if at is None:
            return None
        frames = self._trace.frames if page is None else self._frames_of[page]
        place = (
            bisect_right(frames, at, key=lambda f: f.at) - 1
            if before
            else bisect_left(frames, at, key=lambda f: f.at)
        )
        return frames[place] if 0 <= place < len(frames) else None

    def _seen(
        self, at: float | None, page: str | None, frame: Frame | None, *, before: bool
    ) -> Observation | None:
        """Address and picture of a page right before or right after a call."""
        if at is None:
            return None
        urls = self._trace.seen if page is None else self._seen_of[page]
        # What a call left is told a moment after it has ended.
        until = at if before or frame is None else frame.at
        last = bisect_right(urls, until, key=lambda s: s.at) - 1
        picture = self._picture(frame.name) if frame else None
        url = clean(self._files, urls[last].url, URL_CHARS) if last >= 0 else None
        if picture is None and url is None:
            return None
        seen_at = frame.at if frame else at
        wall = moment(self._trace.wall_seconds(seen_at))
        return Observation(at=wall, url=url, screenshot=picture)

    def _picture(self, name: str) -> BlobRecord | None:
        if name not in self._pictures:
            self._pictures[name] = self._files.picture(name, "screenshot")
        return self._pictures[name]


def _by_page(found: Iterable[OfPage]) -> defaultdict[str | None, list[OfPage]]:
    """Frames or addresses by their page, in their order."""
    grouped: defaultdict[str | None, list[OfPage]] = defaultdict(list)
    for one in found:
        grouped[one.page].append(one)
    return grouped
