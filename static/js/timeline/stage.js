// What is shown of the step: its picture, or in its place, when asked for, tree, details, prompts.
import { Finder } from "./finder.js";
import { Fragment } from "./fragments.js";
import { Picture } from "./picture.js";
import { Seen } from "./seen.js";
import { Tree } from "./tree.js";
import { phrase } from "./words.js";

export class Stage {
  constructor(root, data) {
    const part = (name) => root.querySelector(`[data-${name}]`);
    this.data = data;
    this.position = part("position");
    this.texts = part("texts");
    this.zoomButton = part("zoom");
    this.picture = new Picture(part("stage"), data);
    this.tree = new Tree(part("tree"), data);
    this.details = new Fragment(part("details"), data);
    this.parts = { tree: part("tree"), details: part("details"), prompts: part("prompts"), seen: part("seen") };
    if (this.parts.prompts) {
      const finder = new Finder(this.parts.prompts, data.words);
      this.prompts = new Fragment(finder.frame, data, "calls/", () => finder.read());
    }
    if (this.parts.seen) this.seen = new Seen(this.parts.seen, data);
    this.zoomButton.addEventListener("click", () => this.toggleZoom());
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
    if (this.parts[view]) {
      this.picture.hide();
      return this[view].show(step);
    }
    const hashOf = (one) => ({ before: one.image, after: one.after, marked: one.marked ?? one.image })[view];
    await this.picture.show(hashOf(step), step, phrase(words[`${view}_alt`], { i: step.i }), view !== "after");
    this.picture.fetchAhead(index, hashOf);
  }

  tellPosition(index) {
    const { steps, words } = this.data;
    this.position.textContent = phrase(words.step_of, { i: steps[index].i, n: steps.at(-1).i });
  }

  showNothing() {
    this.texts.hidden = true;
    this.picture.say(this.data.words.no_steps);
    return Promise.resolve();
  }

  toggleZoom(at) {
    this.zoomButton.setAttribute("aria-pressed", String(this.picture.toggleZoom(at)));
  }
}
