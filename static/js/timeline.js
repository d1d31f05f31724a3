// The timeline of a run: knows the current step, moves it by keys, list, scrubber or address, and
// tells the page with events on its root element, which bubble:
//   "ready" {count}           the first picture has been shown (or there is none)
//   "step-changed" {index, step}
//   "step-shown" {index, step}  once its picture is there too
// The element's `timeline` property is the object: isReady, index, count, step, steps, go(index),
// play(), pause(), show(view), setMarks([{index, text}]), setProgress(curves);
// of a run that goes on also extend(news), isLive and `follows`: whether it goes to each new step.
// An index is a place in `steps`; a step's own number, which addresses and comments use, is `step.i`.
import { Preview, Scrubber } from "./timeline/scrubber.js";
import { StepSearch } from "./timeline/search.js";
import { Stage } from "./timeline/stage.js";
import { StepList } from "./timeline/list.js";
import { Texts } from "./timeline/texts.js";
import { placedEvents } from "./timeline/words.js";

const PLAY_MS = 500;
const PICTURES = new Set(["before", "after", "marked"]);
const HIDES_GIVEN_UP = "hides-given-up-steps";

export class Timeline {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    this.steps = this.data.steps;
    this.index = 0;
    this.view = "before";
    this.playing = null;
    this.isReady = false;
    this.isLive = this.data.is_live;
    this.follows = this.isLive && this.indexInAddress() === null;
    this.data.events = placedEvents(this.data);
    this.byEvent = new AbortController();
    const go = (index) => this.go(index);
    this.list = new StepList(root.querySelector("[data-steps]"), this.data, (index) => this.choose(index));
    this.preview = new Preview(root.querySelector("[data-preview]"), this.data);
    this.stage = new Stage(root, this.data);
    this.texts = new Texts(root.querySelector("[data-texts]"), this.data);
    this.scrubber = new Scrubber(root.querySelector("[data-scrubber]"), this.data, go, this.preview);
    this.search = new StepSearch(root.querySelector("[data-step-search]"), this.data, {
      list: this.list,
      texts: this.texts,
      go: (index, words) => this.showHit(index, words),
    });
    this.listen();
    this.hideGivenUp(localStorage.getItem(HIDES_GIVEN_UP) === "yes");
    const shown = this.go(this.indexInAddress() ?? this.count - 1, { keepsAddress: true, byItself: true });
    shown.finally(() => {
      this.isReady = true;
      this.tell("ready", { count: this.count });
    });
  }

  get count() {
    return this.steps.length;
  }

  get step() {
    return this.steps[this.index];
  }

  // Shows a step everywhere; the promise ends when its picture is on the page.
  go(index, { keepsAddress = false, byItself = false } = {}) {
    if (!this.count) return this.stage.showNothing();
    this.index = Math.min(Math.max(index, 0), this.count - 1);
    if (!byItself) this.follows = this.isLive && this.index === this.count - 1;
    if (this.isHidden(this.step)) this.hideGivenUp(false); // somebody wants to see it
    this.list.show(this.index);
    this.scrubber.show(this.index);
    this.texts.show(this.index);
    const shown = this.stage.show(this.index, this.view);
    if (!keepsAddress) history.replaceState(history.state, "", `#step-${this.step.i}`);
    const told = { index: this.index, step: this.step };
    this.tell("step-changed", told);
    shown.then(() => this.index === told.index && this.tell("step-shown", told));
    return shown;
  }

  // A step of the list, which is a hit while somebody searches.
  choose(index) {
    if (this.search.hits.has(index)) this.search.show(index);
    else this.go(index);
  }

  // Words that only the tree of the step has are shown there.
  showHit(index, words) {
    if (words) {
      this.stage.searchTree(words);
      this.view = "tree";
    } else if (this.view === "tree") this.view = "before";
    this.go(index);
    this.show(this.view);
  }

  // To the next step that changed something, forwards or backwards.
  moveToEffect(by) {
    const { steps } = this;
    let index = this.index + by;
    while (steps[index] && (!steps[index].effect || this.isHidden(steps[index]))) index += by;
    if (steps[index]) this.go(index);
  }

  // What came to a run that goes on: new steps, and what has become of earlier ones. Whoever has
  // moved stays where they are.
  extend({ steps, texts, states, ended, events, final }) {
    const isFirst = this.count === 0;
    for (const step of steps) {
      const at = this.steps.findIndex((one) => one.i === step.i);
      if (at < 0) this.steps.push(step);
      else this.steps[at] = step;
    }
    for (const step of this.steps) step.state = states[step.i] ?? "live";
    this.texts.add(texts);
    if (ended) {
      this.isLive = false;
      Object.assign(this.data, { events: placedEvents({ steps: this.steps, events }), final });
    }
    this.list.renew();
    this.scrubber.renew();
    const reads = this.stage.picture.zoomed || !PICTURES.has(this.view);
    if (reads && !isFirst) this.follows = false;
    if (!this.count) return;
    if (this.follows || isFirst) this.go(this.count - 1, { keepsAddress: true, byItself: true });
    else {
      this.list.show(this.index, { scrolls: false });
      this.stage.tellPosition(this.index);
      if (ended) this.texts.show(this.index);
    }
    if (ended) this.follows = false;
  }

  // To the newest step of a run that goes on, and on with it.
  follow() {
    if (!PICTURES.has(this.view)) this.show("before");
    if (this.stage.picture.zoomed) this.stage.toggleZoom();
    history.replaceState(history.state, "", location.pathname + location.search);
    this.go(this.count - 1, { keepsAddress: true });
  }

  // To the next step that is shown, forwards or backwards; stays where there is none.
  move(by) {
    let index = this.index + by;
    while (this.steps[index] && this.isHidden(this.steps[index])) index += by;
    return this.steps[index] ? this.go(index) : this.go(this.index);
  }

  isHidden(step) {
    return this.hidesGivenUp && step.state === "superseded";
  }

  // Steps that a way back made undone, out of the way or back.
  hideGivenUp(isOn) {
    const button = this.root.querySelector("[data-hides-given-up]");
    this.hidesGivenUp = isOn && button !== null;
    button?.setAttribute("aria-pressed", String(this.hidesGivenUp));
    this.list.hideGivenUp(this.hidesGivenUp);
    this.scrubber.hide((step) => this.isHidden(step));
  }

  get firstShown() {
    return Math.max(this.steps.findIndex((step) => !this.isHidden(step)), 0);
  }

  show(view) {
    const tab = this.root.querySelector(`[data-view="${view}"]`);
    if (!tab) return;
    this.view = view;
    for (const other of this.root.querySelectorAll("[data-view]")) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
    }
    if (this.count) this.stage.show(this.index, view);
  }

  play() {
    if (this.playing) return;
    if (this.index >= this.count - 1) this.go(this.firstShown);
    this.playing = setInterval(() => {
      if (!this.root.isConnected || this.index >= this.count - 1) this.pause();
      else this.move(1);
    }, PLAY_MS);
    this.root.querySelector("[data-play]").setAttribute("aria-pressed", "true");
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    this.root.querySelector("[data-play]").setAttribute("aria-pressed", "false");
  }

  togglePlay() {
    if (this.playing) this.pause();
    else this.play();
  }

  // Small signs at steps, such as comments: [{index, text}].
  setMarks(marks) {
    this.list.setMarks(marks);
    this.scrubber.setMarks(marks);
  }

  // Progress over the steps, drawn above the scrubber: [{label, rates, milestones}], `rates` in
  // percent for every place in `steps`, `milestones` as {name, at, lost} with numbers of steps.
  setProgress(curves) {
    const at = (number) => this.steps.findIndex((step) => step.i === number);
    this.scrubber.setProgress(curves.map(({ label, rates, milestones }) => ({
      label,
      rates,
      marks: milestones.flatMap(({ name, at: reached, lost }) => [
        ...(reached === null ? [] : [{ index: at(reached), name, isLost: false }]),
        ...(lost === null ? [] : [{ index: at(lost), name, isLost: true }]),
      ]).filter((mark) => mark.index >= 0),
    })));
  }

  tell(name, detail) {
    this.root.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  }

  indexInAddress() {
    const found = /^#step-(\d+)$/.exec(location.hash);
    const index = found ? this.steps.findIndex((step) => step.i === Number(found[1])) : -1;
    return index < 0 ? null : index;
  }

  listen() {
    const options = { signal: this.byEvent.signal };
    this.root.addEventListener("click", (event) => {
      const view = event.target.closest("[data-view]");
      if (view) this.show(view.dataset.view);
      if (event.target.closest("[data-play]")) this.togglePlay();
      if (event.target.closest("[data-hides-given-up]")) {
        this.hideGivenUp(!this.hidesGivenUp);
        const next = this.steps.findIndex((step, at) => at >= this.index && !this.isHidden(step));
        this.go(next < 0 ? this.firstShown : next);
        localStorage.setItem(HIDES_GIVEN_UP, this.hidesGivenUp ? "yes" : "no");
      }
    });
    this.root.querySelector("[data-views]").addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      const tabs = [...this.root.querySelectorAll("[data-view]")];
      const next = tabs[(tabs.findIndex((tab) => tab.dataset.view === this.view) + by + tabs.length) % tabs.length];
      event.preventDefault();
      event.stopPropagation();
      next.focus();
      this.show(next.dataset.view);
    });
    const { root: list } = this.list;
    list.addEventListener("pointerover", (event) => {
      const row = event.pointerType === "mouse" && event.target.closest(".step");
      if (!row) return this.preview.hide();
      const index = Number(row.dataset.index);
      const box = row.getBoundingClientRect();
      this.preview.show(this.steps[index], this.scrubber.wordsOf(index), [box.right, box.top + box.height / 2], true);
    });
    for (const name of ["pointerleave", "pointerdown", "scroll"]) {
      list.addEventListener(name, () => this.preview.hide(), { passive: true });
    }
    // Whoever looks through the list wants it to stay.
    for (const name of ["wheel", "touchmove"]) {
      this.list.root.addEventListener(name, () => (this.follows = false), { passive: true });
    }
    addEventListener("hashchange", () => {
      const index = this.indexInAddress();
      if (index !== null && this.root.isConnected) this.go(index, { keepsAddress: true });
    }, options);
    document.addEventListener("keydown", (event) => this.onKey(event), options);
  }

  onKey(event) {
    if (!this.root.isConnected) return this.byEvent.abort();
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest("input:not([type=radio], [type=checkbox]), textarea, select, dialog, [contenteditable=true]")) return;
    if (event.key === " " && target.closest("button, summary, a, label, input")) return;
    if (event.key.startsWith("Arrow") && target.matches("input")) return;
    const readsText = target.matches("[data-search-in]");
    const act = {
      j: () => this.move(1),
      k: () => this.move(-1),
      ArrowRight: () => this.move(1),
      ArrowLeft: () => this.move(-1),
      ArrowDown: readsText ? null : () => this.move(1),
      ArrowUp: readsText ? null : () => this.move(-1),
      g: () => this.go(this.firstShown),
      G: () => this.go(this.count - 1),
      " ": () => this.togglePlay(),
      b: () => this.show(this.view === "before" ? "after" : "before"),
      a: () => this.show("after"),
      t: () => this.show("tree"),
      d: () => this.show("details"),
      p: () => this.show("prompts"),
      o: () => this.show("seen"),
      x: () => this.show(this.view === "marked" ? "before" : "marked"),
      e: () => this.stage.toggleChanges(),
      w: () => this.stage.picture.toggleWhole(),
      z: () => this.stage.toggleZoom(),
      "[": () => this.moveToEffect(-1),
      "]": () => this.moveToEffect(1),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    if (event.key !== " " && this.playing) this.pause();
    act();
  }
}

function mount(within) {
  for (const root of within.querySelectorAll("[data-timeline]")) {
    if (!root.timeline) root.timeline = new Timeline(root);
  }
}

// The curves of a run's progress, from the pane that brought them.
function drawProgress() {
  const held = document.getElementById("run-progress");
  const timeline = document.querySelector("[data-timeline]")?.timeline;
  if (!held || !timeline) return;
  const curves = JSON.parse(held.textContent);
  timeline.setProgress(curves.map((curve) => ({
    ...curve,
    rates: timeline.steps.map((step) => curve.rates[step.i] ?? curve.rates.at(-1) ?? 0),
  })));
}

mount(document);
document.addEventListener("htmx:load", (event) => {
  mount(event.detail.elt.parentElement ?? document);
  drawProgress();
});
document.addEventListener("ready", drawProgress);
