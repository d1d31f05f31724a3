"""The files of one AgentLab run folder."""

from __future__ import annotations

from webagent.trajectory import run_files
from webagent.trajectory.agentlab.folders import RunFolder
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.inventory import NO_NUMBER
from webagent.trajectory.pickle_reader import Pickled
from webagent.trajectory.trees import Tree


class RunFiles(run_files.RunFiles):
    """The same as for every format, and which of the files are steps and pictures."""

    def __init__(self, tree: Tree, folder: RunFolder, bounds: Bounds) -> None:
        super().__init__(tree, folder.path, folder.files, bounds)
        self.folder = folder
        self.takes_pictures = True
        """Whether the loop was told to keep a picture of each step; it is unless told not to."""

    def check_pickle(self, pickled: Pickled, path: str) -> None:
        """Say what of a pickle was not run, and which of its numbers no record can hold."""
        if pickled.suspicious:
            names = ", ".join(pickled.suspicious)
            self.note("pickle", path, f"names {names}: nothing of it was run")
        for number in range(pickled.unkept):
            self.inventory.miss("value", f"{path}: {number + 1}", NO_NUMBER)
