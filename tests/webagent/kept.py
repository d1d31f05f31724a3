"""A sink that keeps all that a run hands over."""

from collections.abc import Mapping

from webagent.trajectory.records import StepRecord


class Kept:
    """The steps, and the blobs that came with them."""

    def __init__(self) -> None:
        self.steps: list[StepRecord] = []
        self.blobs: dict[str, bytes] = {}

    def __call__(self, step: StepRecord, blobs: Mapping[str, bytes]) -> None:
        self.steps.append(step)
        self.blobs.update(blobs)

    def text(self, name: str) -> list[str]:
        """The text of that blob of each step's observation."""
        found = [getattr(step.before, name) for step in self.steps]
        return [self.blobs[blob.sha256].decode() for blob in found if blob is not None]
