// Searching the run in place: steps by action, element, thought, page, error and answer, and by their
// accessibility trees, which are read once, when somebody begins to search.
import { blobUrl, phrase } from "./words.js";

const MOST_TREES = 400;
const AT_ONCE = 6;
const SHORTEST = 2; // letters for which trees are looked through

export class StepSearch {
  // `frame` holds [data-step-field] and [data-step-hits]; `go(index, words)` shows a hit, `words` where
  // only its tree has them.
  constructor(frame, data, { list, texts, go }) {
    Object.assign(this, { data, list, texts, go });
    this.field = frame.querySelector("[data-step-field]");
    this.count = frame.querySelector("[data-step-hits]");
    this.trees = new Map(); // texts by hash, null while they are on their way
    this.hits = new Map(); // of steps: whether only the tree has it
    this.at = null;
    this.field.addEventListener("input", () => this.begin());
    // Browsers that empty the field on Esc say so by this event alone, which Enter sends as well.
    this.field.addEventListener("search", () => this.wanted || this.begin());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.move(event.shiftKey ? -1 : 1);
    });
  }

  get wanted() {
    return this.field.value.trim().toLowerCase();
  }

  begin() {
    this.at = null;
    this.search();
    if (this.wanted) this.read();
  }

  search() {
    const { wanted } = this;
    const { steps } = this.data;
    this.hits = new Map();
    steps.forEach((step, index) => {
      if (!wanted) return;
      if (this.textOf(step, index).includes(wanted)) this.hits.set(index, false);
      else if (wanted.length >= SHORTEST && this.trees.get(step.tree)?.includes(wanted)) this.hits.set(index, true);
    });
    this.list.showHits(wanted ? this.hits : null);
    this.tell();
  }

  textOf(step, index) {
    const texts = this.data.texts[step.i] ?? {};
    const answer = index === this.data.steps.length - 1 ? this.data.final.answer : "";
    const parts = [step.action, step.target, step.effect, step.problem, texts.action, texts.thought, texts.title, texts.url, texts.error, answer];
    return parts.filter(Boolean).join("\n").toLowerCase();
  }

  tell() {
    const { words } = this.data;
    const left = [...this.trees.values()].filter((text) => text === null).length;
    const all = [...this.hits.keys()];
    const found = !all.length ? words.no_hits
      : this.at === null ? phrase(words.step_hits, { n: all.length })
      : phrase(words.hits, { i: all.indexOf(this.at) + 1, n: all.length });
    this.count.textContent = !this.wanted ? "" : left ? `${found} …` : found;
  }

  move(by) {
    const all = [...this.hits.keys()];
    if (!all.length) return;
    const next = by > 0 ? all.find((index) => index > (this.at ?? -1)) : all.findLast((index) => index < (this.at ?? Infinity));
    this.show(next ?? all.at(by > 0 ? 0 : -1));
  }

  // A hit, in the list or by its key.
  show(index) {
    this.at = index;
    this.go(index, this.hits.get(index) ? this.field.value.trim() : "");
    this.tell();
  }

  // All texts and trees that are not here yet, some at a time; each adds what it has.
  async read() {
    const wanted = new Set(this.data.steps.map((step) => step.tree).filter((hash) => hash && !this.trees.has(hash)));
    const hashes = [...wanted].slice(0, MOST_TREES - this.trees.size);
    for (const hash of hashes) this.trees.set(hash, null);
    const readSome = async () => {
      for (let hash = hashes.shift(); hash; hash = hashes.shift()) {
        this.trees.set(hash, await treeOf(blobUrl(this.data, hash)));
        this.later();
      }
    };
    await Promise.all([this.texts.fetchAll(), ...Array.from({ length: AT_ONCE }, readSome)]);
    this.search();
  }

  // Not with every tree, of which many come at once.
  later() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.search();
    }, 100);
  }
}

async function treeOf(address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    return answer.ok ? (await answer.text()).toLowerCase() : "";
  } catch {
    return "";
  }
}
