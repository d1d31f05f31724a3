// The scrubber: a tick for every step (height its time, colour its kind; struck through if abandoned,
// hollow if replayed; a line below it if it changed something), below it bands for anomalies, takeovers and branches and an arrow for each way
// back, the small picture on hover. Drag, click or arrows move.
import { ProgressCurves } from "./progress.js";
import { blobUrl, drawn, phrase, seconds } from "./words.js";

const TICKS = 34; // height of the tallest tick
const LANE = 17;
const LOWEST = 5;
const WIDEST = 72; // of a tick, so that three steps are not three walls
const MOST_LANES = 4; // the list has a note for every event, whatever fits here
const NO_BAND = new Set(["given_up", "switch_back"]); // told by the ticks, or by the end of another
const GAP = 6; // between a step and its small picture, and around that
const QUIET = new Set(["branch", "model_switch", "rollback"]);

export class Scrubber {
  constructor(root, data, go, preview) {
    this.root = root;
    this.data = data;
    this.svg = root.querySelector("[data-ticks]");
    this.preview = preview;
    this.marks = [];
    this.index = 0;
    this.left = []; // of each step, where its tick begins
    this.wide = []; // and how wide it is: 0 while it is hidden
    this.isHidden = () => false;
    this.progress = new ProgressCurves(root, data.words);
    this.renew();
    new ResizeObserver(() => this.draw()).observe(this.svg);
    this.listen(go);
  }

  // Once there are other steps or events.
  renew() {
    this.lanes = lanesOf(this.data);
    this.height = TICKS + 4 + this.lanes.length * LANE;
    this.svg.setAttribute("height", String(this.height));
    if (!this.root.hasAttribute("aria-valuenow")) this.root.setAttribute("aria-valuenow", "0");
    this.root.setAttribute("aria-valuemax", String(Math.max(this.data.steps.length - 1, 0)));
    this.draw();
  }

  listen(go) {
    const { root } = this;
    const at = (event) => this.indexAt(event.clientX);
    root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.data.steps.length) return;
      root.setPointerCapture(event.pointerId);
      go(at(event));
    });
    root.addEventListener("pointermove", (event) => {
      if (!this.data.steps.length) return;
      const index = at(event);
      if (root.hasPointerCapture(event.pointerId) && index !== this.index) go(index);
      this.hover(index);
    });
    root.addEventListener("pointerleave", () => this.preview.hide());
    root.addEventListener("pointerup", (event) => {
      if (event.pointerType !== "mouse") this.preview.hide();
    });
    root.addEventListener("focus", () => root.matches(":focus-visible") && this.data.steps.length && this.hover(this.index));
    root.addEventListener("blur", () => this.preview.hide());
  }

  indexAt(x) {
    const at = x - this.svg.getBoundingClientRect().left;
    const index = this.left.findLastIndex((left, one) => left <= at && this.wide[one] > 0);
    return index < 0 ? this.wide.findIndex((wide) => wide > 0) : index;
  }

  // Steps for which `isHidden(step)` take no room.
  hide(isHidden) {
    this.isHidden = isHidden;
    this.draw();
  }

  layOut(width) {
    const { steps } = this.data;
    const shown = steps.filter((step) => !this.isHidden(step)).length;
    this.room = Math.min(width / Math.max(shown, 1), WIDEST);
    let at = 0;
    steps.forEach((step, index) => {
      this.left[index] = at;
      this.wide[index] = this.isHidden(step) ? 0 : this.room;
      at += this.wide[index];
    });
  }

  draw() {
    const { steps } = this.data;
    const width = this.svg.clientWidth;
    this.svg.setAttribute("viewBox", `0 0 ${Math.max(width, 1)} ${this.height}`);
    this.svg.replaceChildren();
    if (!steps.length || !width) return;
    this.layOut(width);
    this.progress.draw(this.left, this.wide, width);
    const room = this.room;
    const gap = room > 5 ? 1.5 : room > 2.5 ? 0.5 : 0;
    const tallest = slowest(steps);
    this.column = drawn("rect", { class: "cursor-column", y: 0, width: Math.max(room, 3), height: TICKS });
    this.cursor = drawn("rect", { class: "cursor", y: 0.5, width: Math.max(room - gap, 3), height: TICKS + 1, rx: 2 });
    const all = document.createDocumentFragment();
    all.append(this.column, drawn("path", { class: "base-line", d: `M0 ${TICKS + 0.5}H${width}` }));
    steps.forEach((step, index) => {
      if (!this.wide[index]) return;
      const share = step.seconds === null ? 0.3 : Math.min(Math.sqrt(step.seconds / tallest), 1);
      const height = LOWEST + share * (TICKS - LOWEST - 4);
      const x = this.left[index];
      const wide = Math.max(room - gap, 0.6);
      all.append(drawn("rect", {
        class: `tick ${step.state} kind-${step.kind}`, x, y: TICKS - height, width: wide, height,
      }));
      if (step.state === "superseded") {
        all.append(drawn("path", { class: "tick-strike", d: `M${x - gap / 2} ${TICKS - 12}h${room}` }));
      }
      if (step.effect) {
        all.append(drawn("rect", { class: "tick-effect", x, y: TICKS + 1, width: wide, height: 3 }));
      }
      if (step.failed || step.problem) {
        const middle = x + (room - gap) / 2;
        const top = TICKS - height - 6;
        all.append(drawn("path", { class: "tick-failed", d: `M${middle - 3} ${top}h6l-3 5z` }));
      }
    });
    this.lanes.forEach((bands, lane) => {
      for (const band of bands) {
        const from = this.left[band.first];
        const to = this.left[band.last] + this.wide[band.last] - (this.wide[band.last] ? gap : 0);
        if (to <= from) continue; // all of it is hidden
        all.append(...bandOf(band, TICKS + 7 + lane * LANE, from, to));
      }
    });
    for (const { index } of this.marks) {
      if (!this.wide[index]) continue;
      all.append(drawn("circle", { class: "tick-mark", cx: this.left[index] + room / 2, cy: 3, r: 3 }));
    }
    all.append(this.cursor);
    this.svg.append(all);
    this.show(this.index);
  }

  show(index) {
    this.index = index;
    const step = this.data.steps[index];
    this.root.setAttribute("aria-valuenow", String(index));
    this.root.setAttribute("aria-valuetext", [step.i, step.action, this.stateOf(index)].filter((part) => part !== "").join(", "));
    if (this.root.matches(":focus-visible")) this.hover(index);
    if (!this.cursor) return;
    this.column.setAttribute("x", String(this.left[index]));
    this.cursor.setAttribute("x", String(this.left[index]));
  }

  // What is special about a step, for ears, and for the small picture.
  stateOf(index) {
    const { words, steps, events } = this.data;
    const within = events.filter((event) => event.first <= index && index <= event.last && !NO_BAND.has(event.kind));
    const state = steps[index].state === "live" ? [] : [words[steps[index].state]];
    return [...state, ...within.map((event) => event.label), this.progress.at(index)].filter(Boolean).join(", ");
  }

  setMarks(marks) {
    this.marks = marks;
    this.draw();
  }

  setProgress(curves) {
    this.progress.set(curves);
    this.draw();
  }

  hover(index) {
    const box = this.svg.getBoundingClientRect();
    const middle = box.left + this.left[index] + this.wide[index] / 2;
    this.preview.show(this.data.steps[index], this.wordsOf(index), [middle, box.top]);
  }

  // What the small picture says of a step.
  wordsOf(index) {
    const { words, steps } = this.data;
    const step = steps[index];
    const parts = [step.i, step.action, words[step.effect], seconds(words, step.seconds), words[step.state], this.progress.at(index)];
    return parts.filter((part) => part !== "" && part !== undefined).join(" · ");
  }
}

// Bands in as few lanes as they need without meeting, events first, then branches. The band of a way
// back lies over all that it went back over.
function lanesOf(data) {
  const bands = data.events
    .filter((event) => !NO_BAND.has(event.kind))
    .map((event) => (event.to === undefined ? { ...event } : { ...event, first: Math.min(event.to, event.first), last: event.first }));
  let open = null;
  data.steps.forEach((step, index) => {
    if (step.branch === 0) open = null;
    else if (open?.branch === step.branch) open.last = index;
    else {
      open = { first: index, last: index, branch: step.branch, kind: "branch", sign: "↪", label: phrase(data.words.branch, { n: step.branch }) };
      bands.push(open);
    }
  });
  const lanes = [];
  for (const band of bands) {
    const isFree = (lane) => lane.every((other) => other.last < band.first || band.last < other.first);
    const lane = lanes.find(isFree);
    if (lane) lane.push(band);
    else if (lanes.length < MOST_LANES) lanes.push([band]);
  }
  return lanes;
}

function bandOf(band, y, from, to) {
  const className = `band ${QUIET.has(band.kind) ? "branch" : ""} ${band.kind}`;
  const end = Math.max(to, from + 2);
  const isArrow = band.to !== undefined;
  const line = isArrow ? y + 2 : y; // its ends reach over it, and may touch no words above
  const parts = [drawn("path", { class: className, d: `M${from} ${line}H${end}` })];
  if (isArrow) {
    // From where it went back to the step that it went back to.
    parts.push(drawn("path", { class: `${className} arrow`, d: `M${end} ${y - 1}V${y + 5}M${from + 4} ${y - 1}L${from} ${line}L${from + 4} ${y + 5}` }));
  }
  const words = `${band.sign} ${band.label}`;
  const left = isArrow ? from + 7 : from;
  const fits = Math.floor((end - left) / 5.8);
  if (fits < 2) return parts;
  const label = drawn("text", { class: `band-label ${QUIET.has(band.kind) ? "branch" : ""}`, x: left, y: y + 12 });
  label.textContent = fits < 6 ? band.sign : cut(words, fits);
  return [...parts, label];
}

// Letters of East Asian scripts are about twice as wide as others.
function cut(words, fits) {
  const letters = [...words];
  let used = 0;
  const tooFar = letters.findIndex((letter) => (used += letter.codePointAt(0) > 0x2e7f ? 2 : 1) > fits);
  return tooFar < 0 ? words : `${letters.slice(0, tooFar - 1).join("")}…`;
}

// The time that fills a tick: the longest but for a few outliers.
function slowest(steps) {
  const times = steps.map((step) => step.seconds).filter((time) => time !== null).sort((a, b) => a - b);
  return times.length ? Math.max(times[Math.floor(0.95 * (times.length - 1))], 0.001) : 1;
}

// The small picture of a step under the pointer, or of the scrubber's own step while it has the focus.
export class Preview {
  // `frame` holds [data-preview-image] and [data-preview-words] and is placed in the window.
  constructor(frame, data) {
    this.frame = frame;
    this.data = data;
    this.image = frame.querySelector("[data-preview-image]");
    this.words = frame.querySelector("[data-preview-words]");
  }

  // Above the place [left, top] in the window, or right of it if `isBeside`.
  show(step, words, [left, top], isBeside = false) {
    const source = blobUrl(this.data, step.thumb || step.image);
    this.image.hidden = !source;
    if (source && this.image.getAttribute("src") !== source) this.image.src = source;
    this.words.textContent = words;
    this.frame.hidden = false;
    const { width, height } = this.frame.getBoundingClientRect();
    const x = isBeside ? left + GAP : left - width / 2;
    const y = isBeside ? top - height / 2 : top - height - GAP;
    this.frame.style.left = `${clamped(x, document.documentElement.clientWidth - width)}px`;
    this.frame.style.top = `${clamped(y, document.documentElement.clientHeight - height)}px`;
  }

  hide() {
    this.frame.hidden = true;
  }
}

function clamped(value, most) {
  return Math.min(Math.max(value, GAP), Math.max(most - GAP, GAP));
}
