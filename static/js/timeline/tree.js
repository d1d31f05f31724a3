// The accessibility tree of a step: fetched when looked at, with the acted-on element marked.
import { Finder, paint, rangeIn } from "./finder.js";
import { blobUrl } from "./words.js";

export class Tree {
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
