"""Pages of our own in the manner of MiniWoB++, made from a seed, to train the detector on.

The benchmark's tasks show some kinds of elements in one or two looks only. These pages put all
of them into ever other company: labels, sizes, order and design are random. They are made without
regard to any single task.
"""

from __future__ import annotations

import random

from tools.detector import made_controls, made_widgets
from tools.detector.designs import random_style
from tools.detector.made_controls import Draw

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
    made_widgets.slider: 4,
    made_widgets.tabs: 3,
    made_widgets.accordion: 3,
    made_widgets.spinner: 1,
    made_widgets.dialog: 1,
    made_widgets.menu: 1,
    made_widgets.progress: 1,
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
