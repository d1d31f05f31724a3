"""How the oracle solves each task that it knows.

A plan is a generator: it yields a decision and is sent what the page shows afterwards. It may
read the goal and the accessibility tree, nothing else: no answer is looked up in the page's
own scripts.
"""

import re
from collections.abc import Callable, Generator

from webagent.agents.reading import (
    NotSeen,
    bids,
    first,
    named,
    nth,
    quoted,
    reacting,
    reacting_with,
    text_below,
    texts,
    wanted,
)
from webagent.trajectory.live import Decision, Observation

Plan = Generator[Decision, Observation, None]

RESULTS_PER_PAGE = 3


def click(bid: str, thought: str) -> Decision:
    return Decision(action=f"click({bid!r})", thought=thought)


def fill(bid: str, text: str, thought: str) -> Decision:
    return Decision(action=f"fill({bid!r}, {text!r})", thought=thought)


def press_button(see: Observation, name: str = "Submit") -> Decision:
    return click(named(see, name, "button"), f"All is set; I press {name}.")


def submit(see: Observation, text: str, thought: str, role: str = "textbox") -> Plan:
    see = yield fill(first(see, role), text, thought)
    yield press_button(see)


def the_only_button(see: Observation) -> Plan:
    yield click(first(see, "button"), "There is one button: I click it.")


def button_in_capitals(see: Observation) -> Plan:
    (name,) = wanted(see.goal, r"button (\w+)\.")
    yield click(named(see, name, "button"), f"The button {name} is the one that is asked for.")


def button_in_quotes(see: Observation) -> Plan:
    name = quoted(see.goal)[0]
    yield click(named(see, name, "button"), f"I see the button {name!r}.")


def buttons_one_after_the_other(see: Observation) -> Plan:
    for name in re.findall(r"button (\w+)", see.goal):
        see = yield click(named(see, name, "button"), f"Next is the button {name}.")


def link(see: Observation) -> Plan:
    name = quoted(see.goal)[0]
    bid = reacting_with(see, name)
    if bid is None:
        raise NotSeen(f"there is no link that reads {name!r}")
    yield click(bid, f"The part that reads {name!r} reacts to clicks: it is the link.")


def close_dialog(see: Observation) -> Plan:
    yield click(named(see, "Close", "button"), "The x of the dialog is its button Close.")


def button_of_dialog(see: Observation) -> Plan:
    name = quoted(see.goal)[0]
    name = "Close" if name == "x" else name
    yield click(named(see, name, "button"), f"The dialog has a button {name}.")


def enter_text(see: Observation) -> Plan:
    yield from submit(see, quoted(see.goal)[0], "I type what the goal quotes.")


def enter_text_in_case(see: Observation) -> Plan:
    text = quoted(see.goal)[0]
    text = text.upper() if "upper case" in see.goal else text.lower()
    yield from submit(see, text, "I type it in the case that is asked for.")


def enter_password(see: Observation) -> Plan:
    password = quoted(see.goal)[0]
    see = yield fill(nth(see, 0, "textbox"), password, "The password goes into the first field.")
    see = yield fill(nth(see, 1, "textbox"), password, "And once more into the second.")
    yield press_button(see)


def login(see: Observation) -> Plan:
    name, password = quoted(see.goal)[:2]
    see = yield fill(nth(see, 0, "textbox"), name, "The first field is the user name.")
    see = yield fill(nth(see, 1, "textbox"), password, "The second one is the password.")
    yield press_button(see, "Login")


def focus_the_text(see: Observation) -> Plan:
    bid = first(see, "textbox")
    yield Decision(action=f"focus({bid!r})", thought="There is one text box: I focus it.")


def focus_one_of_the_texts(see: Observation) -> Plan:
    (number,) = wanted(see.goal, r"(\d+)(?:st|nd|rd|th)")
    bid = nth(see, int(number) - 1, "textbox")
    yield Decision(action=f"focus({bid!r})", thought=f"I focus text box number {number}.")


def tick_checkboxes(see: Observation) -> Plan:
    (names,) = wanted(see.goal, r"Select (.*) and click")
    for name in () if names == "nothing" else names.split(", "):
        see = yield click(named(see, name, "checkbox"), f"{name} is to be selected.")
    yield press_button(see)


def choose_radio(see: Observation) -> Plan:
    (name,) = wanted(see.goal, r"Select (.*) and click")
    see = yield click(named(see, name, "radio"), f"{name} is the option to choose.")
    yield press_button(see)


def choose_from_list(see: Observation) -> Plan:
    (names,) = wanted(see.goal, r"Select (.*) from the")
    options = names.split(", ")
    choice = repr(options[0] if len(options) == 1 else options)
    action = f"select_option({first(see, 'combobox', 'listbox')!r}, {choice})"
    see = yield Decision(action=action, thought=f"I select {names} in the list.")
    yield press_button(see)


def click_tab(see: Observation) -> Plan:
    (name,) = wanted(see.goal, r"Click on (Tab #\d+)")
    yield click(named(see, name, "tab"), f"I see the head of {name}.")


def find_link_behind_tabs(see: Observation) -> Plan:
    name = quoted(see.goal)[0]
    for tab in bids(see, "tab"):
        if bid := reacting_with(see, name):
            yield click(bid, f"Here is the link {name!r}.")
            return
        see = yield click(tab, f"There is no link {name!r} yet; I open the next part.")
    if bid := reacting_with(see, name):
        yield click(bid, f"The last part has the link {name!r}.")


def expand_and_submit(see: Observation) -> Plan:
    see = yield click(first(see, "tab"), "The section is closed; I expand it.")
    yield press_button(see)


def add_up(see: Observation) -> Plan:
    problem = next(text for text in texts(see) if "=" in text)
    left, sign, right = wanted(problem, r"(-?\d+) ([-+x*]) (-?\d+)")
    numbers = int(left), int(right)
    results = {"+": sum(numbers), "-": numbers[0] - numbers[1]}
    answer = str(results.get(sign, numbers[0] * numbers[1]))
    yield from submit(see, answer, f"{problem} {answer}")


def solve_for_x(see: Observation) -> Plan:
    problem = next(text for text in texts(see) if "=" in text)
    left, sign, right, result = wanted(problem, r"(x|-?\d+) ([-+]) (x|-?\d+) = (-?\d+)")
    total = int(result)
    if right == "x":  # a + x = total, a - x = total
        x = total - int(left) if sign == "+" else int(left) - total
    else:  # x + a = total, x - a = total
        x = total - int(right) if sign == "+" else total + int(right)
    yield from submit(see, str(x), f"{problem}, so x is {x}.")


def read_table(see: Observation) -> Plan:
    (key,) = wanted(see.goal, r"value of (.*) into")
    cells = [node.name for node in see.nodes if node.role in {"cell", "gridcell"}]
    value = cells[cells.index(key) + 1]
    yield from submit(see, value, f"The table says {key}: {value}.")


def enter_date(see: Observation) -> Plan:
    month, day, year = wanted(see.goal, r"(\d+)/(\d+)/(\d+)")
    date = f"{year}-{month}-{day}"
    yield from submit(see, date, "A date field takes year, month, day.", "Date")


def enter_time(see: Observation) -> Plan:
    hour, minute, half = wanted(see.goal, r"(\d+):(\d+) (AM|PM)")
    hours = int(hour) % 12 + (12 if half == "PM" else 0)
    time = f"{hours:02}:{minute}"
    yield from submit(see, time, f"In 24 hours that is {time}.", "InputTime")


def find_word(see: Observation) -> Plan:
    (number,) = wanted(see.goal, r"(\d+)(?:st|nd|rd|th) word")
    paragraph = next(index for index, node in enumerate(see.nodes) if node.role == "paragraph")
    word = text_below(see, paragraph).split()[int(number) - 1].strip(".,")
    yield from submit(see, word, f"Word number {number} is {word!r}.")


def click_widget(see: Observation) -> Plan:
    kind = quoted(see.goal)[0]
    roles = {"text": ("textbox",), "textarea": ("textbox",)}.get(kind, (kind,))
    yield click(first(see, *roles), f"This one is a {kind}.")


def search(see: Observation) -> Plan:
    text = quoted(see.goal)[0]
    (number,) = wanted(see.goal, r"click the (\d+)(?:st|nd|rd|th) search result")
    page, place = divmod(int(number) - 1, RESULTS_PER_PAGE)
    see = yield fill(first(see, "textbox"), text, f"I search for {text!r}.")
    see = yield press_button(see, "Search")
    if page:
        thought = f"Result {number} is on page {page + 1}."
        see = yield click(named(see, str(page + 1), "link"), thought)
    yield click(nth(see, place, "link"), f"This is result {number}.")


def autocomplete(see: Observation) -> Plan:
    start, *rest = quoted(see.goal)
    field = first(see, "textbox")
    see = yield fill(field, start, f"I type {start!r} and see what is offered.")
    offers = [
        (node.bid, text_below(see, index))
        for index, node in enumerate(see.nodes)
        if node.role == "listitem" and node.bid
    ]
    for bid, text in offers:
        if text.startswith(start) and text.endswith(rest[0] if rest else ""):
            see = yield click(bid, f"{text!r} begins and ends as asked.")
            yield press_button(see)
            return
    raise NotSeen(f"nothing that is offered begins and ends as asked: {offers}")


def odd_or_even(see: Observation) -> Plan:
    for place, number in enumerate(text for text in texts(see) if re.fullmatch(r"-?\d+", text)):
        name = "Odd" if int(number) % 2 else "Even"
        choices = [node.bid for node in see.nodes if node.role == "button" and node.name == name]
        see = yield click(choices[place] or "", f"{number} is {name.lower()}.")
    yield press_button(see)


def greatest_card(see: Observation) -> Plan:
    cards = [(int(text), bid) for bid, text in reacting(see) if text.isdigit()]
    number, bid = max(cards)
    see = yield click(bid, f"{number} is the greatest of {sorted(card[0] for card in cards)}.")
    yield press_button(see)


def fill_by_label(see: Observation) -> Plan:
    genre, director, year = wanted(see.goal, r"for (.*) movies directed by (.*) from year (\d+)")
    values = {"genre": genre, "director": director, "year": year, "date": year}
    labels = []
    fields = bids(see, "textbox")
    first_field = next(index for index, node in enumerate(see.nodes) if node.role == "textbox")
    for index, node in enumerate(see.nodes):
        known = [word for word in node.name.lower().strip(":").split() if word in values]
        if node.role in {"StaticText", "rowheader"} and known:
            labels.append((index, known[0]))
    place = "below" if labels[0][0] > first_field else "before"
    for field, (_, label) in zip(fields, labels, strict=True):
        see = yield fill(field, values[label], f"The label {place} this field says {label}.")
    buttons = [*bids(see, "button"), *(bid for bid, _ in reacting(see))]
    yield click(buttons[-1], "All three fields are filled.")


PLANS: dict[str, Callable[[Observation], Plan]] = {
    "choose-list": choose_from_list,
    "click-button": button_in_quotes,
    "click-button-sequence": buttons_one_after_the_other,
    "click-checkboxes": tick_checkboxes,
    "click-checkboxes-large": tick_checkboxes,
    "click-collapsible": expand_and_submit,
    "click-collapsible-2": find_link_behind_tabs,
    "click-dialog": close_dialog,
    "click-dialog-2": button_of_dialog,
    "click-link": link,
    "click-option": choose_radio,
    "click-scroll-list": choose_from_list,
    "click-tab": click_tab,
    "click-tab-2": find_link_behind_tabs,
    "click-test": the_only_button,
    "click-test-2": button_in_capitals,
    "click-widget": click_widget,
    "enter-date": enter_date,
    "enter-password": enter_password,
    "enter-text": enter_text,
    "enter-text-2": enter_text_in_case,
    "enter-time": enter_time,
    "find-greatest": greatest_card,
    "find-word": find_word,
    "focus-text": focus_the_text,
    "focus-text-2": focus_one_of_the_texts,
    "login-user": login,
    "multi-layouts": fill_by_label,
    "odd-or-even": odd_or_even,
    "read-table": read_table,
    "search-engine": search,
    "simple-algebra": solve_for_x,
    "simple-arithmetic": add_up,
    "unicode-test": button_in_quotes,
    "use-autocomplete": autocomplete,
}
"""By the name of the task's page."""
