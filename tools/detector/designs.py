"""Other designs of the same page: without them the detector would know one style sheet only."""

from __future__ import annotations

import random

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
