"""Steps of both versions: paired by number and by name, with every difference told."""

from __future__ import annotations

from typing import Any

from webagent.trajectory.assembling import URL_CHARS
from webagent.trajectory.inventory import NOT_THERE
from webagent.trajectory.online_mind2web.actions import action_records
from webagent.trajectory.online_mind2web.layout import number_in
from webagent.trajectory.records import ActionRecord, BlobRecord, Observation, StepRecord
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.untyped import items, mapping, text, whole

_KNOWN = ("step", "screenshot", "url", "action", "action_status", "thought")


class Steps:
    """Puts a run's steps together. `pictures` are paths as the run knows them."""

    def __init__(self, files: RunFiles, run_id: str, pictures: list[str]) -> None:
        self._files = files
        self._run_id = run_id
        self._pictures = pictures

    def in_lists(self, document: dict[str, Any]) -> tuple[StepRecord, ...]:
        """The first version's: lists of actions and thoughts, and pictures with numbers.

        What has the same number belongs together; what is left over in one of them makes steps
        of its own, since nobody can tell whose it is.
        """
        actions, thoughts = items(document.get("action_history")), items(document.get("thoughts"))
        most = self._files.bounds.steps_per_run
        actions, thoughts = actions[:most], thoughts[:most]
        pictures = self._numbered()
        self._tell_counts(len(actions), len(thoughts), len(pictures))
        last = max(pictures, default=-1)
        # One picture more than actions is what the last of them led to.
        has_final = bool(actions) and last == len(actions) and len(thoughts) <= len(actions)
        total = max(len(actions), len(thoughts), last + (0 if has_final else 1))
        steps = []
        for index in range(min(total, most)):
            is_last = index == len(actions) - 1
            after = self._seen(pictures.get(last)) if has_final and is_last else None
            thought = thoughts[index] if index < len(thoughts) else None
            steps.append(
                StepRecord(
                    run_id=self._run_id,
                    index=index,
                    source_index=index,
                    before=self._seen(pictures.get(index)),
                    thought=text(thought),
                    actions=self._actions(actions[index]) if index < len(actions) else (),
                    after=after,
                )
            )
        for index in sorted(set(range(len(actions))) - set(pictures)):
            self._files.inventory.miss("screenshot", f"step {index}", "no picture has this number")
        return tuple(steps)

    def in_entries(self, document: dict[str, Any]) -> tuple[StepRecord, ...]:
        """The second version's: each entry names its picture."""
        by_name = {path.rpartition("/")[2]: path for path in self._pictures}
        entries = items(document.get("action_history"))[: self._files.bounds.steps_per_run]
        steps = []
        for index, entry in enumerate(map(mapping, entries)):
            name = text(entry.get("screenshot"))
            path = by_name.pop(name.rpartition("/")[2], None) if name else None
            own = whole(entry.get("step"))
            if own != index:
                self._files.note("step", f"step {index}", f"its own number is {entry.get('step')}")
            url = (text(entry.get("url")) or "")[:URL_CHARS] or None
            why = NOT_THERE if name else "the step names no picture"
            where = f"step {index}: {name}" if name else f"step {index}"
            picture = self._files.picture(path, "screenshot", where=where, why=why)
            extra = {key: value for key, value in entry.items() if key not in _KNOWN}
            steps.append(
                StepRecord(
                    run_id=self._run_id,
                    index=index,
                    source_index=own,
                    before=Observation(url=url, screenshot=picture),
                    thought=text(entry.get("thought")),
                    actions=self._actions(entry.get("action"), text(entry.get("action_status"))),
                    extra=self._files.free_form(extra, f"step {index}"),
                )
            )
        for path in by_name.values():
            self._files.inventory.miss("screenshot", path, "no step names it")
        return tuple(steps)

    def _numbered(self) -> dict[int, BlobRecord | None]:
        """Pictures by their number, from 0. Two with one number cannot be told apart."""
        numbers: dict[int, list[str]] = {}
        for path in self._pictures:
            number = number_in(path)
            if number is None:
                self._files.inventory.miss("screenshot", path, "no number in its name")
            else:
                numbers.setdefault(number, []).append(path)
        first = 1 if numbers and 0 not in numbers and 1 in numbers else 0
        found = {}
        for number, paths in sorted(numbers.items()):
            for path in paths[1:]:
                self._files.inventory.miss("screenshot", path, f"{paths[0]} has the same number")
            if number - first < self._files.bounds.steps_per_run:
                found[number - first] = self._files.picture(paths[0], "screenshot")
        return found

    def _tell_counts(self, n_actions: int, n_thoughts: int, n_pictures: int) -> None:
        if n_actions == n_thoughts and n_pictures in (0, n_actions, n_actions + 1):
            return
        why = f"{n_actions} actions, {n_thoughts} thoughts and {n_pictures} pictures"
        self._files.note("counts", "action_history", f"{why}: paired by number")

    def _seen(self, picture: BlobRecord | None) -> Observation | None:
        return Observation(screenshot=picture) if picture else None

    def _actions(self, raw: Any, status: str | None = None) -> tuple[ActionRecord, ...]:
        records = action_records(raw, self._files.bounds.text_chars)
        if not records or status is None:
            return records
        failed = status.upper() != "SUCCESS"
        told = {"status": "error" if failed else "ok", "error": status if failed else None}
        return (*records[:-1], records[-1].model_copy(update=told))
