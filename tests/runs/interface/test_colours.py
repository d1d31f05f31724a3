"""Colours: contrast that everybody can read, and differences that colour-blind eyes can see."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

CSS = Path(settings.STATICFILES_DIRS[0]) / "css"
TOKENS = (CSS / "tokens.css").read_text()
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
COLOURS = {name: {"light": light, "dark": dark} for name, light, dark in PAIR.findall(TOKENS)}
THEMES = ("light", "dark")

# Machado, Oliveira, Fernandes (2009), severity 1.0, on linear RGB.
EYES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG contrast ratio, 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65 from linear RGB."""
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    x, y, z = (to_xyz @ np.clip(rgb, 0, 1)) / np.array([0.95047, 1.0, 1.08883])
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str, eyes: str) -> float:
    """CIE76 colour difference as the given eyes see it."""
    seen = [lab(np.array(EYES[eyes]) @ linear(colour)) for colour in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


TEXTS = ("text", "muted", "accent", "success", "failure", "unsure", "tp", "tn", "fn", "fp",
         "no-verdict")  # fmt: skip
GROUNDS = ("paper", "surface", "sunken", "hover")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read_on_every_ground(text, theme):
    for ground in GROUNDS:
        ratio = contrast(COLOURS[text][theme], COLOURS[ground][theme])
        assert ratio >= 4.5, f"{text} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("text", "accent-weak"),
        ("muted", "accent-weak"),
        ("accent", "accent-weak"),
        ("on-accent", "accent"),
        ("on-accent", "accent-hover"),
        ("on-cell", "fn"),
        ("on-cell", "fp"),
        ("success", "success-weak"),
        ("failure", "failure-weak"),
        ("unsure", "unsure-weak"),
    ],
)
def test_text_can_be_read_on_its_own_ground(text, ground, theme):
    assert contrast(COLOURS[text][theme], COLOURS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_edges_of_controls_can_be_seen(theme):
    for ground in ("paper", "surface"):
        assert contrast(COLOURS["line-control"][theme], COLOURS[ground][theme]) >= 3


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("group", [("success", "failure", "unsure"), ("tp", "fn", "fp")])
def test_meanings_differ_for_colour_blind_eyes(group, eyes, theme):
    for one, other in itertools.combinations(group, 2):
        seen = difference(COLOURS[one][theme], COLOURS[other][theme], eyes)
        assert seen >= 12, f"{one} and {other}: {seen:.1f}"


def test_no_raw_colour_outside_the_tokens():
    for sheet in CSS.glob("*.css"):
        if sheet.name == "tokens.css":
            continue
        rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)|\b(rgb|hsl|oklch)a?\(", rules), (
            sheet.name
        )


def test_only_tokens_that_exist_are_used():
    declared = set(re.findall(r"--([\w-]+):", TOKENS))
    for sheet in CSS.glob("*.css"):
        used = set(re.findall(r"var\(--([\w-]+)", sheet.read_text()))
        assert used <= declared, f"{sheet.name}: {used - declared}"
