// The accessibility tree of a step: fetched when looked at, searched with marked hits.
import { blobUrl, phrase } from "./words.js";

const MOST_HITS = 5000;

export class Tree {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.pre = root.querySelector("[data-tree-text]");
    this.field = root.querySelector("[data-tree-search]");
    this.count = root.querySelector("[data-tree-hits]");
    this.hits = [];
    this.at = 0;
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.move(event.shiftKey ? -1 : 1);
    });
    root.querySelector("[data-tree-next]").addEventListener("click", () => this.move(1));
    root.querySelector("[data-tree-previous]").addEventListener("click", () => this.move(-1));
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
    this.lower = text.toLowerCase();
    this.paint("tree-target", step ? this.targetLine(text, step) : []);
    this.search();
  }

  // The line of the element that the step acted on, when its action names one.
  targetLine(text, step) {
    const named = /^\w+\(\s*["']([\w-]+)["']/.exec(step.action);
    const at = named ? text.indexOf(`[${named[1]}]`) : -1;
    if (at < 0) return [];
    const from = text.lastIndexOf("\n", at) + 1;
    const end = text.indexOf("\n", at);
    const line = this.range(from, end < 0 ? text.length : end);
    if (!this.field.value) this.reveal(line);
    return [line];
  }

  search() {
    const wanted = this.field.value.toLowerCase();
    this.hits = [];
    this.at = 0;
    if (wanted && this.pre.firstChild) {
      for (let at = this.lower.indexOf(wanted); at >= 0; at = this.lower.indexOf(wanted, at + wanted.length)) {
        this.hits.push(this.range(at, at + wanted.length));
        if (this.hits.length === MOST_HITS) break;
      }
    }
    this.paint("tree-hit", this.hits);
    this.tell(wanted);
  }

  move(by) {
    if (!this.hits.length) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.tell(this.field.value);
  }

  tell(wanted) {
    const { words } = this.data;
    const hit = this.hits[this.at];
    this.paint("tree-current", hit ? [hit] : []);
    if (hit) this.reveal(hit);
    if (!wanted) this.count.textContent = "";
    else this.count.textContent = hit ? phrase(words.hits, { i: this.at + 1, n: this.hits.length }) : words.no_hits;
  }

  range(from, to) {
    const range = new Range();
    const node = this.pre.firstChild;
    range.setStart(node, from);
    range.setEnd(node, Math.min(to, node.length));
    return range;
  }

  reveal(range) {
    const box = range.getBoundingClientRect();
    const frame = this.pre.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) {
      this.pre.scrollTop += box.top - frame.top - frame.height / 3;
    }
  }

  paint(name, ranges) {
    if (CSS.highlights) CSS.highlights.set(name, new Highlight(...ranges));
  }
}
