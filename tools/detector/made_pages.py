"""Pages of our own in the manner of MiniWoB++, made from a seed, to train the detector on.

The benchmark's tasks show some kinds of elements in one or two looks only. These pages put all
of them into ever other company: labels, sizes, order and design are random. They are made without
regard to any single task. Here are widgets of jQuery UI, designs that style any page anew (without
them the detector would know one style sheet only), and the page; plain controls are beside.
"""

import json
import random

from tools.detector import made_controls
from tools.detector.made_controls import Draw, phrase, sentence, word

FONTS = (
    "Arial",
    "Arial",
    "Georgia, serif",
    "'DejaVu Sans'",
    "'DejaVu Serif'",
    "'Liberation Sans Narrow'",
    "'Liberation Serif'",
    "monospace",
    "'Noto Sans CJK JP'",
    "cursive",
)
LIGHT = ("#fff", "#fff", "#f4f4f4", "#e8f0fe", "#fff7e0", "#eafaf1", "#fdeef4", "#ddd")
STRONG = ("#1a73e8", "#2e7d32", "#c62828", "#6a1b9a", "#ef6c00", "#455a64", "#000", "#00e")
DARK = ("#222", "#1b2631", "#263238")


def random_style(rng: random.Random) -> str:
    """A style sheet that draws the controls of a page another way."""
    return "\n".join((_ground(rng), _controls(rng), _links(rng), _widgets(rng)))


def _border(rng: random.Random) -> str:
    line = rng.choice(("solid", "solid", "solid", "dashed", "inset"))
    return f"{rng.choice((1, 1, 2))}px {line} {rng.choice(('#999', '#ccc', *STRONG))}"


def _ground(rng: random.Random) -> str:
    dark = rng.random() < 0.1
    size = rng.choice((9, 10, 10, 11, 12, 13))
    ground = rng.choice(DARK if dark else LIGHT)
    return f"""
      #area, #area * {{ font-family: {rng.choice(FONTS)} !important; }}
      #area {{ font-size: {size}px; background: {ground};
        color: {rng.choice(LIGHT) if dark else rng.choice(("#000", "#000", "#222", "#444"))};
        line-height: {rng.choice((1.0, 1.15, 1.3, 1.5))}; }}
    """


def _controls(rng: random.Random) -> str:
    strong, light = rng.choice(STRONG), rng.choice(LIGHT)
    filled = rng.random() < 0.5
    radius = rng.choice((0, 2, 4, 8, 14))
    # Some pages keep the browser's own look of fields: it is the most common one.
    fields = f"""
      #area input[type=text], #area input[type=password], #area input[type=input],
      #area textarea, #area select {{ border: {_border(rng)}; border-radius: {min(radius, 6)}px;
        background-color: {rng.choice(LIGHT)}; padding: {rng.choice((0, 1, 2, 4))}px; }}
    """
    return f"""
      #area button {{ border: {_border(rng)}; border-radius: {radius}px;
        background: {strong if filled else light}; color: {"#fff" if filled else "#222"};
        padding: {rng.choice((1, 3, 5))}px {rng.choice((2, 4, 8, 14))}px; }}
      {fields if rng.random() < 0.7 else ""}
      #area input[type=checkbox], #area input[type=radio] {{ accent-color: {strong};
        transform: scale({rng.choice((0.8, 0.9, 1, 1, 1, 1.2, 1.5))}); }}
    """


def _links(rng: random.Random) -> str:
    line = rng.choice(("underline", "underline", "none", "none"))
    return f"""
      #area a, #area .alink {{ color: {rng.choice(STRONG)}; text-decoration: {line};
        font-weight: {rng.choice(("normal", "normal", "bold"))}; }}
    """


def _widgets(rng: random.Random) -> str:
    if rng.random() < 0.35:
        return ""  # the widgets' own style sheet
    strong, light = rng.choice(STRONG), rng.choice(LIGHT)
    radius = rng.choice((0, 0, 3, 6, 20))
    thick = rng.choice((4, 6, 8, 11))
    knob = rng.choice((10, 12, 14, 18))
    return f"""
      .ui-widget {{ font-size: {rng.choice((8, 9, 10, 11))}px !important; }}
      .ui-widget-header, .ui-tabs-nav, .ui-accordion-header {{ background: {light} !important; }}
      .ui-state-active {{ background: {rng.choice((strong, light, "#fff"))} !important; }}
      .ui-tabs-nav li, .ui-accordion-header {{ border-radius: {radius}px !important;
        border-color: {rng.choice(("#999", "#ccc", strong))} !important; }}
      .ui-slider {{ background: {rng.choice((light, "#bbb", "#fff"))} !important;
        border-radius: {radius}px !important; }}
      .ui-slider-horizontal {{ height: {thick}px !important; }}
      .ui-slider-vertical {{ width: {thick}px !important; }}
      .ui-slider-handle {{ background: {rng.choice((strong, light, "#eee"))} !important;
        border-radius: {rng.choice((0, 3, 20))}px !important;
        width: {knob}px !important; height: {knob}px !important; }}
    """


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


# How often each part is drawn, against the others.
PARTS: dict[Draw, int] = {
    made_controls.buttons: 4,
    made_controls.choices: 5,
    made_controls.fields: 3,
    made_controls.text_area: 3,
    made_controls.selects: 3,
    made_controls.links: 5,
    made_controls.results: 3,
    made_controls.record: 3,
    made_controls.table: 2,
    made_controls.cards: 2,
    made_controls.counters: 2,
    made_controls.icons: 3,
    made_controls.text: 3,
    slider: 4,
    tabs: 3,
    accordion: 3,
    spinner: 1,
    dialog: 1,
    menu: 1,
    progress: 1,
}
PLAIN_SHARE = 0.35
"""How many of the pages keep the benchmark's own design: it is what tests and runs show."""
PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8">
<link rel="stylesheet" href="/core/core.css">
<link rel="stylesheet" href="/core/jquery-ui/jquery-ui.min.css">
<script src="/core/jquery-ui/external/jquery/jquery.js"></script>
<script src="/core/jquery-ui/jquery-ui.min.js"></script>
<style>{layout}</style><style>{design}</style></head>
<body><div id="wrap">{query}<div id="area">{parts}</div></div></body></html>"""


def made_page(seed: int) -> str:
    """The page's HTML: the same for the same seed."""
    rng = random.Random(f"made page {seed}")  # noqa: S311 (no secret)
    draws = rng.choices(list(PARTS), list(PARTS.values()), k=rng.randint(2, 5))
    between = rng.choice(("", "", "<br>", "<hr>"))
    return PAGE.format(
        layout=_layout(rng),
        design="" if rng.random() < PLAIN_SHARE else random_style(rng),
        query='<div id="query"></div>' if rng.random() < 0.9 else "",
        parts=between.join(f'<div class="part">{draw(rng)}</div>' for draw in draws),
    )


def _layout(rng: random.Random) -> str:
    wide = rng.random() < 0.3
    scrolls = rng.random() < 0.2
    return f"""
      #wrap {{ {f"width: {rng.randint(180, 325)}px;" if wide else ""} overflow: hidden; }}
      #area {{ padding: {rng.choice((2, 2, 4, 8, 12))}px;
        {"height: 150px; overflow-y: scroll;" if scrolls else ""}
        text-align: {rng.choice(("left", "left", "left", "left", "center"))}; }}
      .part {{ margin-bottom: {rng.choice((0, 2, 4, 8))}px; }}
      #area h3 {{ margin: {rng.choice((0, 2, 5))}px 0; }}
    """
