// Two runs side by side: one place in the list of pairs, and both pictures, texts and scrubbers there.
import { Picture } from "./timeline/picture.js";
import { Preview, Scrubber } from "./timeline/scrubber.js";
import { Texts } from "./timeline/texts.js";
import { element, phrase, placedEvents } from "./timeline/words.js";

class Side {
  // `picked(index)` is called when somebody picks a step of this run.
  constructor(root, name, data, shown, picked) {
    const part = root.querySelector(`[data-side="${name}"]`);
    data.events = placedEvents(data);
    this.data = data;
    this.places = new Map(data.steps.map((step, index) => [step.i, index]));
    this.picture = new Picture(part.querySelector("[data-stage]"), data, null);
    this.picture.shot.addEventListener("click", (event) => this.picture.toggleZoom(event));
    this.textRoot = part.querySelector("[data-texts]");
    this.texts = new Texts(this.textRoot, data);
    this.link = part.querySelector("[data-opens-run]");
    this.address = this.link.href;
    const scrubber = root.querySelector(`[data-scrubber="${name}"]`);
    const preview = new Preview(scrubber.querySelector("[data-preview]"), data);
    this.scrubber = new Scrubber(scrubber, data, (index) => picked(data.steps[index].i), preview);
    this.scrubber.hide((step) => !shown.has(step.i));
  }

  show(number, view, words) {
    this.textRoot.classList.toggle("is-empty", number === null);
    this.scrubber.root.classList.toggle("is-empty", number === null);
    if (number === null) return this.picture.say(words.no_step);
    const index = this.places.get(number);
    const step = this.data.steps[index];
    const hashOf = (one) => (view === "after" ? one.after : one.image);
    this.picture.show(hashOf(step), step, phrase(this.data.words[`${view}_alt`], { i: number }), view !== "after");
    this.picture.fetchAhead(index, hashOf);
    this.texts.show(index);
    this.scrubber.show(index);
    this.link.href = `${this.address}#step-${number}`;
    return undefined;
  }
}

class Comparison {
  constructor(root) {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    this.root = root;
    this.pairs = data.pairs;
    this.partsAt = data.parts_at;
    this.words = data.words;
    this.view = "before";
    this.place = 0;
    this.list = root.querySelector("[data-pairs]");
    this.sides = {};
    for (const name of ["a", "b"]) {
      const shown = new Set(this.pairs.map((pair) => pair[name]).filter((number) => number !== null));
      const picked = (number) => this.go(this.pairs.findIndex((pair) => pair[name] === number));
      this.sides[name] = new Side(root, name, data[name], shown, picked);
    }
    this.actions = Object.fromEntries(["a", "b"].map((name) => [name, new Map(data[name].steps.map((step) => [step.i, step.action || data.words.no_action]))]));
    this.list.append(...this.pairs.flatMap((pair, place) => this.rows(pair, place)));
    this.listen();
    const found = /^#pair-(\d+)$/.exec(location.hash);
    this.go(found ? Number(found[1]) : 0, { keepsAddress: true });
  }

  rows(pair, place) {
    const row = element("li", `pair ${pair.same ? "same" : "different"}`);
    row.id = `pair-row-${place}`;
    row.dataset.place = String(place);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    const alone = pair.a === null ? this.words.only_b : pair.b === null ? this.words.only_a : this.words.different;
    const said = pair.same ? this.words.same : alone;
    row.append(element("span", "sign", pair.same ? "=" : pair.a === null ? "+" : pair.b === null ? "−" : "≠"));
    row.append(element("span", "visually-hidden", `${said}: `));
    if (pair.same) row.append(this.line(`${pair.a} = ${pair.b}`, this.actions.a.get(pair.a)));
    else {
      for (const name of ["a", "b"]) {
        if (pair[name] !== null) row.append(this.line(`${name.toUpperCase()} ${pair[name]}`, this.actions[name].get(pair[name])));
      }
    }
    if (place !== this.partsAt) return [row];
    const note = element("li", "step-note parts");
    note.setAttribute("role", "presentation");
    note.id = "parts-here";
    note.append(element("span", "", "≠"), element("span", "", this.words.parts));
    row.setAttribute("aria-describedby", note.id);
    return [note, row];
  }

  line(numbers, action) {
    const line = element("span", "line");
    line.append(element("span", "n", numbers), element("span", "action", action));
    return line;
  }

  go(place, { keepsAddress = false } = {}) {
    if (!this.pairs.length) {
      for (const side of Object.values(this.sides)) side.picture.say(this.words.no_pairs);
      return;
    }
    this.place = Math.min(Math.max(place, 0), this.pairs.length - 1);
    const pair = this.pairs[this.place];
    for (const [name, side] of Object.entries(this.sides)) side.show(pair[name], this.view, this.words);
    this.root.querySelector("[data-position]").textContent = phrase(this.words.pair_of, { i: this.place + 1, n: this.pairs.length });
    this.list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    const row = document.getElementById(`pair-row-${this.place}`);
    row.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
    if (!keepsAddress) history.replaceState(history.state, "", `#pair-${this.place}`);
  }

  // To the next difference, forwards or backwards; stays where there is none.
  goToDifference(by) {
    let place = this.place + by;
    while (this.pairs[place]?.same) place += by;
    if (this.pairs[place]) this.go(place);
  }

  show(view) {
    this.view = view;
    for (const button of this.root.querySelectorAll("[data-shows]")) {
      button.setAttribute("aria-pressed", String(button.dataset.shows === view));
    }
    this.go(this.place);
  }

  listen() {
    this.root.addEventListener("click", (event) => {
      const row = event.target.closest(".pair");
      const move = event.target.closest("[data-moves]");
      const view = event.target.closest("[data-shows]");
      if (row) this.go(Number(row.dataset.place));
      if (move) this.go(this.place + Number(move.dataset.moves));
      if (view) this.show(view.dataset.shows);
      if (event.target.closest("[data-next-difference]")) this.goToDifference(1);
    });
    document.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest("input, textarea, select, dialog, [contenteditable=true]")) return;
    const act = {
      j: () => this.go(this.place + 1),
      k: () => this.go(this.place - 1),
      ArrowRight: () => this.go(this.place + 1),
      ArrowLeft: () => this.go(this.place - 1),
      ArrowDown: () => this.go(this.place + 1),
      ArrowUp: () => this.go(this.place - 1),
      g: () => this.go(0),
      G: () => this.go(this.pairs.length - 1),
      n: () => this.goToDifference(1),
      N: () => this.goToDifference(-1),
      b: () => this.show("before"),
      a: () => this.show("after"),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

for (const root of document.querySelectorAll("[data-compare]")) root.comparison = new Comparison(root);
