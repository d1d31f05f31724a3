"""The message catalogue: update it from the sources, check it, compile it.

    python scripts/messages.py update     collect new texts into locale/ja
    python scripts/messages.py check      fail on missing, fuzzy or superfluous entries
    python scripts/messages.py compile    write the .mo files that Django reads

Works without the gettext programs, so that `make run` needs nothing but Python: Django turns
templates into pseudo code, Babel reads that and the Python sources.
"""

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import django
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "locale" / "ja" / "LC_MESSAGES" / "django.po"
SOURCES = ("runs", "judging", "webagent/settings")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}


def templates_as_code() -> Iterator[bytes]:
    """Every template as the pseudo code that holds its texts as calls."""
    from django.utils.translation import templatize

    folders = [ROOT / "templates", *(ROOT / app / "templates" for app in ("runs", "judging"))]
    for folder in folders:
        for path in sorted(folder.rglob("*.html")) + sorted(folder.rglob("*.txt")):
            code = templatize(path.read_text(encoding="utf-8"), origin=str(path))
            # The layout of the page is left in it, which is no indentation that Python knows.
            yield "\n".join(line.strip() for line in code.splitlines()).encode()


def python_sources() -> Iterator[bytes]:
    """Every Python file that may hold interface texts."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.read_bytes()


def collect() -> Catalog:
    """All texts of the interface, untranslated."""
    settings.configure(USE_I18N=True)
    django.setup()
    catalogue = Catalog(locale="ja", charset="utf-8", header_comment="")
    for source in (*templates_as_code(), *python_sources()):
        found = extract_python(io.BytesIO(source), KEYWORDS, [], {"encoding": "utf-8"})
        for _line, function, texts, _comments in found:
            context = None
            spec = KEYWORDS[function]
            texts = texts if isinstance(texts, tuple) else (texts,)
            if spec and spec[0] == (1, "c"):
                context, *texts = texts
            texts = tuple(text for text in texts[: 2 if "ngettext" in function else 1] if text)
            if texts:
                catalogue.add(texts if len(texts) > 1 else texts[0], context=context)
    return catalogue


def read_catalogue() -> Catalog:
    """The Japanese catalogue as it is kept."""
    if not CATALOGUE.exists():
        return Catalog(locale="ja", charset="utf-8")
    with CATALOGUE.open("rb") as file:
        return read_po(file, locale="ja")


def update() -> int:
    """Add new texts, drop vanished ones, keep translations."""
    template, kept = collect(), read_catalogue()
    kept.update(template, no_fuzzy_matching=True)
    kept.obsolete.clear()
    kept.header_comment = "# Japanese texts of Crosscheck."
    kept.project, kept.version, kept.fuzzy = "Crosscheck", "1", False
    kept.creation_date = kept.revision_date = datetime(2026, 11, 21, tzinfo=UTC)
    kept.last_translator = kept.msgid_bugs_address = "Crosscheck"
    kept.language_team = "ja"
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    with CATALOGUE.open("wb") as file:
        write_po(file, kept, width=100, no_location=True, omit_header=False, sort_output=True)
    return 0


def problems() -> list[str]:
    """What is wrong with the catalogue, in words; empty when it is complete."""
    template, kept = collect(), read_catalogue()
    found = []
    for message in template:
        if not message.id:
            continue
        translation = kept.get(message.id, message.context)
        strings = translation.string if translation else ""
        whole = all(strings) if isinstance(strings, tuple) else bool(strings)
        if not whole:
            found.append(f"no translation: {message.id!r}")
        elif translation is not None and translation.fuzzy:
            found.append(f"fuzzy: {message.id!r}")
    for message in kept:
        if message.id and template.get(message.id, message.context) is None:
            found.append(f"no longer used: {message.id!r}")
        found += [f"{message.id!r}: {error}" for error in message.check()]
    return found


def check() -> int:
    """Print what is wrong; 1 if anything is."""
    found = problems()
    print("\n".join(found) or "The catalogue is complete.")
    return int(bool(found))


def compile_catalogue() -> int:
    """Write the binary catalogue beside the text one; whoever reads it meanwhile reads a whole."""
    if CATALOGUE.exists():
        with NamedTemporaryFile(dir=CATALOGUE.parent, suffix=".mo", delete=False) as file:
            write_mo(file, read_catalogue())
        written = Path(file.name)
        written.chmod(0o644)
        written.replace(CATALOGUE.with_suffix(".mo"))
    return 0


if __name__ == "__main__":
    actions = {"update": update, "check": check, "compile": compile_catalogue}
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        raise SystemExit(__doc__)
    raise SystemExit(actions[sys.argv[1]]())
