"""Why files, runs and rows of labels are refused at import.

For `runs.interface.stored_sentences`. What only one format's reader says of a part that it leaves
out stays English.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop

WITH_PARTS = (
    # webagent.trajectory.reading
    gettext_noop("no %(format)s run in it"),
    gettext_noop("more than %(n)s %(what)s"),
    gettext_noop("empty or more than %(n)s characters"),
    gettext_noop("may be %(one)s or %(other)s: say which with the format"),
    gettext_noop("unexpected: %(name)s"),
    # webagent.trajectory.bounds, webagent.trajectory.files
    gettext_noop("decompresses to more than %(n)s times its size"),
    gettext_noop("more than %(n)s bytes when decompressed"),
    gettext_noop("a line of more than %(n)s %(what)s"),
    gettext_noop("cannot be read: %(reason)s"),
    gettext_noop("not readable as %(syntax)s: %(reason)s"),
    gettext_noop("%(n)s bytes instead of %(due)s"),
    # webagent.trajectory.formats.native
    gettext_noop("version %(version)s is newer than %(known)s"),
    gettext_noop("%(n)s of %(due)s steps are here"),
    gettext_noop("%(name)s is not in %(file)s"),
    # judging.portability.judgements
    gettext_noop("has %(n)s cells; the header has %(due)s"),
    gettext_noop("the run has %(n)s steps, from 0"),
    gettext_noop("%(name)s has another label on this run"),
    gettext_noop("is none of %(words)s"),
    gettext_noop("several runs fit; tell them apart by run_id, %(columns)s"),
    # Python's reader of JSON
    gettext_noop("%(reason)s: line %(n)s column %(column)s (char %(at)s)"),
    # Pydantic
    gettext_noop("Input should be a valid %(type)s"),
)
WHOLE = (
    gettext_noop("no run of a known format in it"),
    gettext_noop("not the id of its task"),
    gettext_noop("ends before it begins"),
    gettext_noop("belongs to another run"),
    gettext_noop("not a media type"),
    gettext_noop("holds invisible or incomplete characters"),
    gettext_noop("the file is empty"),
    gettext_noop("neither a readable zip nor JSON"),
    gettext_noop("cut short: the end is missing"),
    gettext_noop("cut short: what is missing of this run is not known; send the whole file"),
    gettext_noop("nested too deeply"),
    gettext_noop("not a JSON object"),
    gettext_noop("missing"),
    gettext_noop("missing or not a text"),
    gettext_noop("appears twice"),
    gettext_noop("absolute path, empty segment or forbidden character"),
    gettext_noop("path too long or too deep"),
    gettext_noop("not a regular file"),
    gettext_noop("link that leads nowhere"),
    gettext_noop("leads outside"),
    gettext_noop("the bytes are not those that the hash names"),
    gettext_noop("nobody can tell whether its steps are all here"),
    gettext_noop("not readable, and there is no step"),
    gettext_noop("neither a response nor a result nor a trace"),
    gettext_noop("no message of an agent"),
    gettext_noop("no trace that can be read"),
    gettext_noop("does not begin with the context's options"),
    gettext_noop("no list"),
    gettext_noop("no states and actions"),
    # judging.portability.judgements
    gettext_noop("not readable as JSON"),
    gettext_noop("is too long, too deep or holds what cannot be stored"),
    gettext_noop("has not all cells that an annotation has"),
    gettext_noop("is out of range"),
    gettext_noop("there is no such run here"),
    gettext_noop("you are to judge a run of this task yourself; name the run by run_id"),
    gettext_noop("is missing, and so are content_hash and task"),
    gettext_noop("is missing; a run without trajectory is named by task_set, task and agent"),
    gettext_noop("the run's labels settled it or are disputed in this study already"),
    gettext_noop("another verdict on this run is here already"),
    # Python's reader of JSON, before the place
    gettext_noop("Expecting value"),
    gettext_noop("Extra data"),
    gettext_noop("Expecting property name enclosed in double quotes"),
    gettext_noop("Expecting ',' delimiter"),
    gettext_noop("Expecting ':' delimiter"),
    gettext_noop("Unterminated string starting at"),
    # Pydantic
    gettext_noop("Field required"),
    gettext_noop("Extra inputs are not permitted"),
)
