// Searching a long text: hits are marked, Enter and the arrows go from one to the next.
import { phrase } from "./words.js";

const MOST_HITS = 5000;

export class Finder {
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

export function rangeIn(node, from, to) {
  const range = new Range();
  range.setStart(node, from);
  range.setEnd(node, Math.min(to, node.length));
  return range;
}

export function paint(name, ranges) {
  if (CSS.highlights) CSS.highlights.set(name, new Highlight(...ranges));
}
