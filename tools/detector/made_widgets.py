"""Widgets of jQuery UI with random labels and settings, for pages made at random."""

from __future__ import annotations

import json
import random

from tools.detector.made_words import phrase, sentence, word


def _started(rng: random.Random, html: str, widget: str, **settings: object) -> str:
    """The first element of the HTML, `{id}` in it, as the widget."""
    name = f"made-{rng.randrange(10**9)}"
    call = f'$("#{name}").{widget}({json.dumps(settings)});'
    return f"{html.format(id=name)}<script>{call}</script>"


def slider(rng: random.Random) -> str:
    """One or several of them, lying or standing, some with their value beside."""
    upright = rng.random() < 0.25
    most = rng.choice((5, 10, 20, 100))
    place = rng.choice(("display:inline-block", "", "margin:8px"))
    size = rng.randint(40, 90) if upright else rng.randint(50, 140)
    side = f"height:{size}px" if upright else f"width:{size}px"
    if upright:
        place = "display:inline-block;margin:6px 10px"
    all_of_them = []
    for _ in range(rng.randint(1, 4)):
        value = rng.randint(0, most)
        all_of_them.append(
            _started(
                rng,
                f'<div id="{{id}}" style="{side};{place}"></div>',
                "slider",
                max=most,
                value=value,
                orientation="vertical" if upright else "horizontal",
                range=rng.choice((False, "min")),
            )
            + (f"<span> {value} </span>" if rng.random() < 0.6 else "")
        )
    return rng.choice(("", "<br>" if not upright else "")).join(all_of_them)


def tabs(rng: random.Random) -> str:
    """Two to five of them with words, at times links, on the sheet that is open."""
    count = rng.randint(2, 5)
    names = [rng.choice((word(rng), word(rng)[:5], f"{n + 1}")) for n in range(count)]
    sheets = [f"sheet-{rng.randrange(10**9)}" for _ in names]
    heads = "".join(f'<li><a href="#{s}">{n}</a></li>' for s, n in zip(sheets, names, strict=True))
    bodies = "".join(f'<div id="{s}"><p>{_filling(rng)}</p></div>' for s in sheets)
    html = f'<div id="{{id}}"><ul>{heads}</ul>{bodies}</div>'
    return _started(rng, html, "tabs", active=rng.randrange(count))


def accordion(rng: random.Random) -> str:
    """Sections of which at most one is open."""
    sections = "".join(
        f"<h3>{phrase(rng)}</h3><div>{_filling(rng)}</div>" for _ in range(rng.randint(1, 5))
    )
    return _started(
        rng,
        f'<div id="{{id}}">{sections}</div>',
        "accordion",
        collapsible=True,
        active=rng.choice((0, False, False)),
        heightStyle="content",
        icons=rng.choice(({"header": "ui-icon-triangle-1-e"}, None)),
    )


def _filling(rng: random.Random) -> str:
    pieces = [
        f'<span class="alink" style="cursor:pointer">{word(rng)}</span>'
        if rng.random() < 0.4
        else phrase(rng, 1, 5)
        for _ in range(rng.randint(1, 6))
    ]
    return " ".join(pieces)


def spinner(rng: random.Random) -> str:
    """A number with arrows beside it."""
    width = rng.randint(25, 70)
    html = (
        f'{phrase(rng)}: <input id="{{id}}" value="{rng.randint(0, 99)}" style="width:{width}px">'
    )
    return _started(rng, html, "spinner")


def dialog(rng: random.Random) -> str:
    """A small window over the page."""
    settings: dict[str, object] = {
        "width": rng.randint(90, 155),
        "height": rng.randint(70, 130),
        "position": {
            "my": "left top",
            "at": f"left+{rng.randint(0, 40)} top+{rng.randint(50, 90)}",
            "of": "body",
        },
    }
    return _started(
        rng, f'<div id="{{id}}" title="{word(rng)}">{sentence(rng)}</div>', "dialog", **settings
    )


def menu(rng: random.Random) -> str:
    """Entries below one another."""
    entries = "".join(f"<li><div>{phrase(rng, 1, 2)}</div></li>" for _ in range(rng.randint(2, 5)))
    width = rng.randint(50, 110)
    return _started(rng, f'<ul id="{{id}}" style="width:{width}px">{entries}</ul>', "menu")


def progress(rng: random.Random) -> str:
    """A bar that looks like a slider and is none."""
    width = rng.randint(50, 140)
    html = f'<div id="{{id}}" style="width:{width}px;height:{rng.randint(4, 14)}px"></div>'
    return _started(rng, html, "progressbar", value=rng.randint(0, 100))
