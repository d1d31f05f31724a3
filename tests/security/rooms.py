"""Who may come to which object: rooms that ask for a permission, and parts in a study.

Who lacks a room's permission gets 403, whether or not the object is there. Everything else is
somebody's own, or follows from a part: others get 404, as if there were none.
"""

import re
from collections.abc import Mapping

from judging.studies.access import TAG_FAILURES

ROOMS: Mapping[str, str] = {
    r"judging:(audit|batch_|what_if|experiment_|hint_|replication_)\w*": "judging.view_audit",
    r"judging:(failure_review|cause_tag|milestone_proposals)": "judging.view_audit",
    r"judging:study_(data|download\w*)": "judging.view_audit",
    r"judging:failure_causes?": TAG_FAILURES,
    r"runs:import_\w+|judging:label_import_\w+": "runs.import_run",
    r"runs:run_export\w*": "runs.export_run",
    r"runs:(run_(rerun\w*|cancel|retry)|rerun_\w+|policy_\w+)": "runs.rerun_run",
    r"runs:(live_wall|infrastructure\w*)": "runs.rerun_run",
    r"runs:(space|retention)\w*": "runs.manage_space",
    r"runs:audit_log\w*": "runs.read_acts",
    r"runs:(task_|set_)\w+": "runs.view_task",
    r"runs:hint_\w+": "runs.view_hint",
    r"runs:(knowledge|learning)_\w+": "runs.view_knowledgeset",
    r"runs:experiment_\w+": "runs.view_experiment",
}
"""Names of addresses, and what their room asks for before it looks at anything."""

STUDY = r"judging:(study_detail|study_preview|guidelines)"
PARTS: Mapping[str, str] = {
    "stranger": r"",
    "annotator": rf"{STUDY}|judging:(annotate|annotate_run|label_examples|run_judgements)"
    r"|runs:run_(detail|live|steps?|screen|compare_choices|blob|preview)",
    "adjudicator": rf"{STUDY}|judging:dispute_detail",
}
"""What a part in the study opens beside rooms. The first run is the annotator's, still blind."""
NO_KEY, NO_NUMBER = "00000000-0000-4000-8000-000000000000", "999999999"


def room_of(name: str) -> str | None:
    """The permission that the address asks for; None where it asks for none."""
    return next((asked for words, asked in ROOMS.items() if re.fullmatch(words, name)), None)


def nowhere(path: str) -> str:
    """The same address of an object that does not exist."""
    keyless = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", NO_KEY, path)
    return re.sub(r"(?<=/)\d+(?=/)", NO_NUMBER, keyless)
