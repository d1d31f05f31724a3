"""Words for pages that are made at random: what they say does not matter, how it looks does."""

from __future__ import annotations

import random

WORDS: tuple[str, ...] = tuple(
    """
    account add alert apple archive autumn bank basket bird blue book bottle bread bridge bus
    button cancel carpet chair change cheese city clear cloud coat coffee colour copy corner
    country cup date day delete desk door down draft early edit engine evening event export
    family file filter find flight floor flower forest forward fruit garden glass green group
    hand harbour help home hotel house important island item journey key kitchen lamp language
    large late left letter light list lock lunch mail map market meeting menu message middle
    milk minute money month more morning mountain music name never new next night north note
    number office old open orange order other page paper park party pay pencil people person
    phone picture place plan plate play please poem point post price print profile quick quiet
    rain reply report reset rice river road room round salad save school search second send
    settings shelf ship shop short sign silver simple size small song soup south spring square
    star start station stone street submit summer sun table team tea text thing ticket time
    today tomorrow train travel tree type under up upload user vegetable view visit wait wall
    water week white window winter wood word work write year yellow yes
    """.split()  # noqa: SIM905 (as a paragraph they can be read)
)
NAMES: tuple[str, ...] = tuple(
    """
    Ada Amir Bela Carla Chen Dana Deepa Elif Emil Farah Gita Hugo Ines Ivan Jana Joao Kemal
    Lena Lucia Mads Mina Nadia Noor Olga Omar Petra Quentin Rosa Samir Sofia Tariq Uma Vera
    Wen Yuki Zofia
    """.split()  # noqa: SIM905 (as a paragraph they can be read)
)


def word(rng: random.Random) -> str:
    """One word, or a name, or a number, in one of the ways of writing them large or small."""
    drawn = rng.random()
    if drawn < 0.1:
        return str(rng.randint(0, 10 ** rng.randint(1, 4)))
    if drawn < 0.25:
        return rng.choice(NAMES)
    text = rng.choice(WORDS)
    return rng.choice((text, text, text.capitalize(), text.capitalize(), text.upper()))


def phrase(rng: random.Random, least: int = 1, most: int = 3) -> str:
    """Some words."""
    return " ".join(word(rng) for _ in range(rng.randint(least, most)))


def sentence(rng: random.Random) -> str:
    """Words with an end."""
    return phrase(rng, 4, 12).capitalize() + rng.choice((".", ".", ",", "?", "!"))


def contact(rng: random.Random) -> str:
    """An address, a number, an amount or a day: what stands beside names."""
    name = rng.choice(NAMES).lower()
    return rng.choice(
        (
            f"{name}@{rng.choice(WORDS)}.example",
            f"www.{rng.choice(WORDS)}.example",
            f"{rng.randint(100, 999)}-{rng.randint(100, 999)}-{rng.randint(1000, 9999)}",
            f"${rng.randint(1, 900)}.{rng.randint(0, 99):02}",
            f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/20{rng.randint(10, 30)}",
            f"{rng.randint(1, 12)}:{rng.randint(0, 59):02} {rng.choice(('am', 'pm'))}",
        )
    )
