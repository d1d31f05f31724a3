// What is shown of the step: its picture, or in its place, when asked for, tree, details, prompts.
import { Picture } from "./picture.js";
import { blobUrl, phrase } from "./words.js";

const MOST_HITS = 5000;
const WAIT_MS = 150;
const OUTLINES_CHANGES = "outlines-changes";

export class Stage {
  constructor(root, data) {
    const part = (name) => root.querySelector(`[data-${name}]`);
    this.data = data;
    this.position = part("position");
    this.texts = part("texts");
    this.zoomButton = part("zoom");
    this.changesButton = part("changes");
    this.changesFound = part("changes-found");
    // What changed at the end is part of the evidence, unless somebody put it away.
    this.outlinesChanges = localStorage.getItem(OUTLINES_CHANGES) !== "no";
    this.changesButton.setAttribute("aria-pressed", String(this.outlinesChanges));
    this.picture = new Picture(part("stage"), data, part("whole"));
    this.tree = new Tree(part("tree"), data);
    this.details = new Fragment(part("details"), data);
    this.parts = { tree: part("tree"), details: part("details"), prompts: part("prompts"), seen: part("seen") };
    if (this.parts.prompts) {
      const finder = new Finder(this.parts.prompts, data.words);
      this.prompts = new Fragment(finder.frame, data, "calls/", () => finder.read());
    }
    if (this.parts.seen) this.seen = new Seen(this.parts.seen, data);
    this.zoomButton.addEventListener("click", () => this.toggleZoom());
    this.changesButton.addEventListener("click", () => this.toggleChanges());
    part("whole").addEventListener("click", () => this.picture.toggleWhole());
    this.picture.shot.addEventListener("click", (event) => this.toggleZoom(event));
  }

  async show(index, view) {
    const step = this.data.steps[index];
    const { words } = this.data;
    this.texts.hidden = false;
    this.tellPosition(index);
    for (const [name, part] of Object.entries(this.parts)) {
      if (part) part.hidden = name !== view;
      if (part && name !== view) this[name].clear();
    }
    this.index = index;
    this.view = view;
    this.changesFound.textContent = "";
    if (this.parts[view]) {
      this.picture.hide();
      return this[view].show(step);
    }
    const hashOf = (one) => ({ before: one.image, after: one.after, marked: one.marked ?? one.image })[view];
    await this.picture.show(hashOf(step), step, phrase(words[`${view}_alt`], { i: step.i }), view !== "after");
    await this.tellChanges();
    this.picture.fetchAhead(index, hashOf);
  }

  // What is new on the picture: since the step before, or since the action if it shows the page after.
  async tellChanges() {
    const { steps, words } = this.data;
    const { index, view } = this;
    if (!this.outlinesChanges || this.parts[view]) return;
    const earlier = view === "after" ? steps[index] : steps[index - 1];
    if (!earlier) return;
    const found = await this.picture.outlineChanges(earlier.image);
    if (this.index !== index || this.view !== view) return;
    const said = found === null ? words.changes_unknown
      : found === Infinity ? words.changes_all
      : found ? words.changes : words.changes_none;
    this.changesFound.textContent = phrase(said, { i: earlier.i, n: found });
  }

  toggleChanges() {
    this.outlinesChanges = !this.outlinesChanges;
    localStorage.setItem(OUTLINES_CHANGES, this.outlinesChanges ? "yes" : "no");
    this.changesButton.setAttribute("aria-pressed", String(this.outlinesChanges));
    this.changesFound.textContent = "";
    this.picture.clearChanges();
    return this.tellChanges();
  }

  tellPosition(index) {
    const { steps, words } = this.data;
    this.position.textContent = phrase(words.step_of, { i: steps[index].i, n: steps.at(-1).i });
  }

  // The tree of the step, with these words marked.
  searchTree(words) {
    this.tree.finder.field.value = words;
  }

  showNothing() {
    this.texts.hidden = true;
    this.picture.say(`${this.data.words.no_steps} ${this.data.final.words}`.trim());
    return Promise.resolve();
  }

  toggleZoom(at) {
    this.zoomButton.setAttribute("aria-pressed", String(this.picture.toggleZoom(at)));
  }
}

// A part of a step that the server lays out when it is looked at: details, prompts.
class Fragment {
  // `path` is what follows on the step's own address; `filled` is called when the part is there.
  constructor(target, data, path = "", filled = () => {}) {
    this.target = target;
    this.data = data;
    this.path = path;
    this.filled = filled;
    this.turn = 0;
  }

  // Waits a moment, so that running through the steps asks for none on the way.
  show(step) {
    const turn = (this.turn += 1);
    setTimeout(async () => {
      if (turn !== this.turn) return;
      const url = this.data.step_url.replace(/0\/$/, `${step.i}/${this.path}`);
      await window.htmx.ajax("GET", url, { target: this.target, swap: "innerHTML" });
      if (turn === this.turn) this.filled();
    }, WAIT_MS);
  }

  clear() {
    this.turn += 1;
    this.target.replaceChildren();
  }
}

// What an agent was told of a screen: the lines, each with its box on the picture.
class Seen extends Fragment {
  constructor(root, data) {
    super(root, data, "screen/");
    for (const name of ["mouseover", "focusin"]) {
      root.addEventListener(name, (event) => this.point(event.target.closest("[data-piece]")));
    }
    root.addEventListener("mouseleave", () => this.point(document.activeElement?.closest("[data-piece]")));
  }

  // Marks the line and the box that belong together, and no others.
  point(piece) {
    for (const each of this.target.querySelectorAll("[data-piece]")) {
      each.classList.toggle("pointed", Boolean(piece) && each.dataset.piece === piece.dataset.piece);
    }
  }
}

// The accessibility tree of a step: fetched when looked at, with the acted-on element marked.
class Tree {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.pre = root.querySelector("[data-tree-text]");
    this.finder = new Finder(root, data.words);
  }

  async show(step) {
    const { words } = this.data;
    const url = blobUrl(this.data, step.tree);
    if (this.shown === url && url) return;
    this.shown = url;
    if (!url) return this.put(words.no_tree);
    this.put(words.loading);
    try {
      const answer = await fetch(url, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      if (this.shown === url) this.put(text, step);
    } catch {
      if (this.shown === url) this.put(words.failed_load);
      this.shown = null;
    }
  }

  clear() {
    if (!this.shown) return;
    this.shown = null;
    this.put("");
  }

  put(text, step) {
    this.pre.textContent = text;
    paint("tree-target", step ? this.targetLine(text, step) : []);
    this.finder.read();
  }

  // The line of the element that the step acted on, when its action names one.
  targetLine(text, step) {
    const named = /^\w+\(\s*["']([\w-]+)["']/.exec(step.action);
    const at = named ? text.indexOf(`[${named[1]}]`) : -1;
    if (at < 0) return [];
    const from = text.lastIndexOf("\n", at) + 1;
    const end = text.indexOf("\n", at);
    const line = rangeIn(this.pre.firstChild, from, end < 0 ? text.length : end);
    if (!this.finder.isSearching) this.finder.reveal(line);
    return [line];
  }
}

// Searching a long text: hits are marked, Enter and the arrows go from one to the next.
class Finder {
  // `root` holds the field of `_text_search.html` and, in [data-search-in], the text.
  constructor(root, words) {
    const part = (name) => root.querySelector(`[data-search-${name}]`);
    this.words = words;
    this.frame = part("in");
    this.field = part("field");
    this.count = part("hits");
    this.texts = [];
    this.hits = [];
    this.at = 0;
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("search", () => this.isSearching || this.search()); // emptied by Esc
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.move(event.shiftKey ? -1 : 1);
    });
    part("next").addEventListener("click", () => this.move(1));
    part("previous").addEventListener("click", () => this.move(-1));
  }

  get isSearching() {
    return this.field.value !== "";
  }

  // To be called when the text is another one.
  read() {
    const walker = document.createTreeWalker(this.frame, NodeFilter.SHOW_TEXT);
    this.texts = [];
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.data.trim() && !node.parentElement.closest("summary")) this.texts.push([node, node.data.toLowerCase()]);
    }
    this.search();
  }

  search() {
    const wanted = this.field.value.toLowerCase();
    this.hits = [];
    this.at = 0;
    for (const [node, text] of wanted ? this.texts : []) {
      for (let at = text.indexOf(wanted); at >= 0 && this.hits.length < MOST_HITS; at = text.indexOf(wanted, at + wanted.length)) {
        this.hits.push(rangeIn(node, at, at + wanted.length));
      }
    }
    paint("text-hit", this.hits);
    this.tell(wanted);
  }

  move(by) {
    if (!this.hits.length) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.tell(this.field.value);
  }

  tell(wanted) {
    const hit = this.hits[this.at];
    paint("text-current", hit ? [hit] : []);
    if (hit) this.reveal(hit);
    if (!wanted) this.count.textContent = "";
    else this.count.textContent = hit ? phrase(this.words.hits, { i: this.at + 1, n: this.hits.length }) : this.words.no_hits;
  }

  reveal(range) {
    const closed = range.startContainer.parentElement.closest("details:not([open])");
    if (closed) closed.open = true;
    const box = range.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) {
      this.frame.scrollTop += box.top - frame.top - frame.height / 3;
    }
  }
}

function rangeIn(node, from, to) {
  const range = new Range();
  range.setStart(node, from);
  range.setEnd(node, Math.min(to, node.length));
  return range;
}

function paint(name, ranges) {
  if (CSS.highlights) CSS.highlights.set(name, new Highlight(...ranges));
}
