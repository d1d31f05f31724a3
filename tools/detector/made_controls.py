"""Plain HTML controls, links, lists and tables for pages made at random, and words to label them.

What the words say does not matter, how they look does.
"""

import random
from base64 import b64encode
from collections.abc import Callable

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


Draw = Callable[[random.Random], str]
BREAKS = ("", " ", " ", "<br>", "<br>")
COLOURS = ("#c62828", "#2e7d32", "#1a73e8", "#f9a825", "#6a1b9a", "#333", "#00897b", "#999")


def buttons(rng: random.Random) -> str:
    """A row or a column of them; some carry a sign instead of words."""
    between = rng.choice(BREAKS)
    one = rng.choice(
        (
            "<button>{}</button>",
            '<input type="button" value="{}">',
            '<button class="secondary-action">{}</button>',
        )
    )
    texts = [
        rng.choice("+-×<>?OX") if rng.random() < 0.12 else phrase(rng, 1, 2)
        for _ in range(rng.randint(1, 5))
    ]
    return between.join(one.format(text) for text in texts)


def choices(rng: random.Random) -> str:
    """Radio buttons or boxes to tick, labelled on either side, in a row, column or table."""
    kind = rng.choice(("radio", "radio", "checkbox"))
    group = rng.choice(WORDS)
    count = rng.randint(2, 6)
    chosen = rng.randrange(count + 2)
    size = rng.choice(("", "", f"width:{rng.randint(8, 18)}px;height:{rng.randint(8, 18)}px"))
    items = []
    for number in range(count):
        ticked = number == chosen if kind == "radio" else rng.random() < 0.4
        field = f'<input type="{kind}" name="{group}" style="{size}"{" checked" if ticked else ""}>'
        items.append((field, phrase(rng, 1, rng.choice((1, 1, 2, 4)))))
    form = rng.randrange(4)
    if form == 0:
        cells = "".join(f"<tr><td>{text}<td>{field}" for field, text in items)
        return f"<table>{cells}</table>"
    if form == 1:
        heads = "".join(f"<td>{text[:6]}" for _, text in items[:4])
        fields = "".join(f"<td>{field}" for field, _ in items[:4])
        return f"<table><tr>{heads}<tr>{fields}</table>"
    between = rng.choice(BREAKS)
    if form == 2:
        return between.join(f"<label>{text}{field}</label>" for field, text in items)
    return between.join(f"<label>{field}{text}</label>" for field, text in items)


def fields(rng: random.Random) -> str:
    """Text boxes with labels beside or above them, empty, filled or with a hint."""
    between = rng.choice(("<br>", " "))
    rows = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(("text", "text", "text", "password"))
        said = rng.choice(("", "", f'value="{phrase(rng)}"', f'placeholder="{phrase(rng)}"'))
        width = rng.choice((30, 60, 90, 120, 145))
        label = rng.choice((f"<label>{phrase(rng, 1, 2)}:</label>", phrase(rng, 1, 1), ""))
        rows.append(f'{label}{between}<input type="{kind}" {said} style="width:{width}px">')
    return f"<div>{'<br>'.join(rows)}</div>"


def text_area(rng: random.Random) -> str:
    """One, empty or with text that may be more than it can show."""
    text = rng.choice(("", phrase(rng), sentence(rng), " ".join(sentence(rng) for _ in range(6))))
    size = f"width:{rng.randint(60, 150)}px;height:{rng.randint(18, 90)}px"
    resize = rng.choice(("", "resize:none"))
    return f'{phrase(rng)}<br><textarea style="{size};{resize}">{text}</textarea>'


def selects(rng: random.Random) -> str:
    """A drop-down, or a box that shows several options."""
    options = "".join(
        f"<option{' selected' if rng.random() < 0.2 else ''}>{phrase(rng, 1, 2)}</option>"
        for _ in range(rng.randint(2, 8))
    )
    size = rng.choice(("", f'size="{rng.randint(2, 6)}"', "multiple"))
    width = rng.choice(("", f"width:{rng.randint(50, 150)}px"))
    return f'<div>{phrase(rng)} <select {size} style="{width}">{options}</select></div>'


def links(rng: random.Random) -> str:
    """In a row, in a list, or in running text; anchors, or words that are made to look so."""
    form = rng.randrange(4)
    if form == 0:
        between = rng.choice((" | ", " ", " · ", " &gt; "))
        return between.join(_link(rng, phrase(rng, 1, 1)) for _ in range(rng.randint(2, 6)))
    if form == 1:
        tag = rng.choice(("ul", "ol", "div"))
        item = "div" if tag == "div" else "li"
        rows = (f"<{item}>{_link(rng, phrase(rng))}</{item}>" for _ in range(rng.randint(2, 5)))
        return f"<{tag}>{''.join(rows)}</{tag}>"
    if form == 2:
        return " ".join(str(number) for number in map(_page(rng), range(1, rng.randint(3, 7))))
    pieces = [
        _link(rng, phrase(rng, 1, 2)) if rng.random() < 0.35 else phrase(rng, 1, 6)
        for _ in range(rng.randint(3, 9))
    ]
    return f"<p>{' '.join(pieces)}</p>"


def _link(rng: random.Random, text: str) -> str:
    if rng.random() < 0.65:
        return f'<a href="#">{text}</a>'
    return f'<span class="alink" style="cursor:pointer">{text}</span>'


def _page(rng: random.Random) -> Callable[[int], str]:
    tag = rng.choice(('<a href="#">{}</a>', '<a href="#" style="margin:3px">{}</a>'))
    return lambda number: tag.format(number)


def results(rng: random.Random) -> str:
    """Entries with a title to click, an address and some words."""
    entries = []
    for _ in range(rng.randint(1, 4)):
        title = _link(rng, phrase(rng, 1, 3))
        lines = [title, f"<i>{contact(rng)}</i>", sentence(rng)]
        if rng.random() < 0.3:
            lines.insert(0, lines.pop())
        entries.append("<br>".join(lines[: rng.randint(1, 3)]))
    gap = rng.choice((0, 2, 5, 8))
    return "".join(f'<div style="margin:{gap}px 0">{entry}</div>' for entry in entries)


def record(rng: random.Random) -> str:
    """Facts about something, each with its name: in some of them the values can be clicked."""
    to_click = rng.random() < 0.5
    rows = []
    for _ in range(rng.randint(2, 5)):
        value = contact(rng) if rng.random() < 0.6 else phrase(rng)
        shown = _link(rng, value) if to_click else value
        rows.append((phrase(rng, 1, 1), shown))
    head = f"<h3>{phrase(rng)}</h3>" if rng.random() < 0.4 else ""
    if rng.random() < 0.5:
        cells = "".join(f"<tr><td>{name}:<td>{value}" for name, value in rows)
        return f"{head}<table>{cells}</table>"
    return head + "".join(f"<div><b>{name}</b> {value}</div>" for name, value in rows)


def table(rng: random.Random) -> str:
    """Of words, links, buttons or boxes to tick."""
    columns, rows = rng.randint(2, 4), rng.randint(2, 5)
    special, cell = rng.randrange(columns + 1), rng.choice((_only_link, _small_button, _tick))
    border = rng.choice(("", 'style="border-collapse:collapse"'))
    line = rng.choice(("", "border-bottom:1px solid #bbb"))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{line}">{cell(rng) if column == special else word(rng)}'
            for column in range(columns)
        )
        for _ in range(rows)
    )
    return f"<table {border}>{body}</table>"


def _only_link(rng: random.Random) -> str:
    return _link(rng, word(rng))


def _small_button(rng: random.Random) -> str:
    return f"<button>{rng.choice((word(rng), *'+-x'))}</button>"


def _tick(rng: random.Random) -> str:
    kind = rng.choice(("radio", "checkbox"))
    return f'<input type="{kind}"{" checked" if rng.random() < 0.3 else ""}>'


def cards(rng: random.Random) -> str:
    """Rows that can be clicked as a whole, with lines between them."""
    line = rng.choice(("border-bottom:1px solid #bbb", "", "border:1px solid #999"))
    pad = rng.choice((1, 3, 5))
    rows = (
        f'<div style="cursor:pointer;padding:{pad}px;{line}">'
        f"{rng.choice(('', picture(rng)))}<b>{phrase(rng, 1, 2)}</b> {phrase(rng, 0, 4)}</div>"
        for _ in range(rng.randint(2, 4))
    )
    return "".join(rows)


def counters(rng: random.Random) -> str:
    """Things to have some of, each with signs for more and for fewer of it."""
    signs = rng.choice((("-", "+"), ("−", "+"), ("&lt;", "&gt;"), ("▼", "▲")))
    size = rng.choice((10, 12, 14, 18))
    tag = rng.choice(("button", "span", "a"))
    less, more = (
        f'<{tag} style="cursor:pointer;font-size:{size}px">{sign}</{tag}>' for sign in signs
    )
    side = rng.choice(("float:right", "", "margin-left:20px"))
    rows = (
        f"<div>{phrase(rng, 1, 2)} <span style='{side}'>{less} {rng.randint(0, 9)} {more}</span>"
        "</div>"
        for _ in range(rng.randint(1, 4))
    )
    return "".join(rows)


def icons(rng: random.Random) -> str:
    """Small pictures in a row, or before words."""
    named = rng.random() < 0.4
    between = rng.choice((" ", "&nbsp;&nbsp;", "<br>" if named else " "))
    return between.join(
        picture(rng) + (f" {word(rng)}" if named else "") for _ in range(rng.randint(1, 6))
    )


def picture(rng: random.Random) -> str:
    """A drawing of a few strokes and areas, of the size of an icon, at times larger."""
    side = rng.choice((10, 12, 14, 16, 18, 20, 24, 28, 50))
    drawn = "".join(_stroke(rng) for _ in range(rng.randint(1, 4)))
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'>{drawn}</svg>"
    source = b64encode(svg.encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{source}" width="{side}" height="{side}">'


def _stroke(rng: random.Random) -> str:
    points = " ".join(
        f"{rng.randint(1, 23)},{rng.randint(1, 23)}" for _ in range(rng.randint(2, 6))
    )
    colour = rng.choice(COLOURS)
    return rng.choice(
        (
            f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='3'/>",
            f"<polygon points='{points}' fill='{colour}'/>",
            f"<circle cx='12' cy='12' r='{rng.randint(3, 11)}' fill='{colour}'/>",
            f"<rect x='3' y='3' width='18' height='{rng.randint(6, 18)}' fill='{colour}'/>",
        )
    )


def text(rng: random.Random) -> str:
    """Words alone, which are none of the elements; some are framed, or on another ground."""
    size = rng.choice(("p", "div", "h3", "b"))
    look = rng.choice(("", "", "border:1px solid #999", "background:#e0e0e0", "color:#00c"))
    return f'<{size} style="{look}">{rng.choice((phrase, sentence))(rng)}</{size}>'
