"""A page as a faultless reader of screens would tell it: elements and texts by the DOM."""

from playwright.sync_api import Page

from tools.detector.dataset import ELEMENTS
from webagent.agents.screen.agent import Read
from webagent.trajectory.live import Observation
from webagent.vision.screen import HOLDERS, TEXT, Box, ScreenItem, ScreenText

SCALE = 1.5
TEXTS = """() => {
  const found = [];
  const keep = (text, r) => {
    if (text.trim() && r.width > 1 && r.height > 1 && r.top >= 50 && r.left >= 0)
      found.push({ text: text.trim(), box: [r.left, r.top, r.right, r.bottom] });
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (["SCRIPT", "STYLE", "TEXTAREA"].includes(node.parentElement.tagName)) continue;
    const range = document.createRange();
    let line = "", last = null;
    for (const word of node.data.matchAll(/\\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const r = range.getBoundingClientRect();
      if (last && Math.abs(last.top - r.top) < 3) {
        line += " " + word[0];
        last = new DOMRect(last.left, last.top, r.right - last.left, last.height);
      } else {
        if (last) keep(line, last);
        line = word[0];
        last = r;
      }
    }
    if (last) keep(line, last);
  }
  for (const field of document.querySelectorAll("input, textarea")) {
    if (!["checkbox", "radio", "hidden"].includes(field.type)) {
      keep(field.type === "date" && !field.value ? "mm/dd/yyyy" : field.value,
           field.getBoundingClientRect());
    }
  }
  return found;
}"""


def read_page(page: Page) -> Read:
    """Reads this page, whatever the observation."""

    def read(observation: Observation) -> ScreenText:
        texts = [(each["text"], _box(each["box"])) for each in page.evaluate(TEXTS)]
        items = []
        for element in page.evaluate(ELEMENTS):
            box = _box(element["box"])
            inside = [text for text in texts if text[1].shared(box) * 2 > text[1].area]
            if element["kind"] == "dialog":
                inside = []
            texts = [text for text in texts if text not in inside]
            said = (" " if element["kind"] in HOLDERS else "").join(text for text, _ in inside)
            items.append(ScreenItem(element["kind"], said, box))
        items += [ScreenItem(TEXT, text, box) for text, box in texts]
        return ScreenText(tuple(items), (observation.width, observation.height))

    return read


def _box(sides: list[float]) -> Box:
    x1, y1, x2, y2 = (max(0, round(side * SCALE)) for side in sides)
    return Box(x1, y1, max(x2, x1 + 1), max(y2, y1 + 1))
