// The scrubber: a tick for every step (height its time, colour its kind), bands for anomalies and
// branches below, the small picture on hover. Drag, click or arrows move.
import { blobUrl, drawn, phrase, seconds } from "./words.js";

const TICKS = 34; // height of the tallest tick
const LANE = 17;
const LOWEST = 5;
const WIDEST = 72; // of a tick, so that three steps are not three walls
const MOST_LANES = 3; // the list has a note for every event, whatever fits here

export class Scrubber {
  constructor(root, data, go) {
    this.root = root;
    this.data = data;
    this.svg = root.querySelector("[data-ticks]");
    this.preview = root.querySelector("[data-preview]");
    this.image = root.querySelector("[data-preview-image]");
    this.words = root.querySelector("[data-preview-words]");
    this.marks = [];
    this.index = 0;
    this.lanes = lanesOf(data);
    this.height = TICKS + 4 + this.lanes.length * LANE;
    this.svg.setAttribute("height", String(this.height));
    root.setAttribute("aria-valuemax", String(Math.max(data.steps.length - 1, 0)));
    new ResizeObserver(() => this.draw()).observe(this.svg);
    this.listen(go);
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
    root.addEventListener("pointerleave", () => (this.preview.hidden = true));
    root.addEventListener("pointerup", (event) => {
      if (event.pointerType !== "mouse") this.preview.hidden = true;
    });
  }

  indexAt(x) {
    const box = this.svg.getBoundingClientRect();
    const last = this.data.steps.length - 1;
    return Math.min(Math.max(Math.floor((x - box.left) / this.room), 0), last);
  }

  draw() {
    const { steps } = this.data;
    const width = this.svg.clientWidth;
    this.svg.setAttribute("viewBox", `0 0 ${Math.max(width, 1)} ${this.height}`);
    this.svg.replaceChildren();
    if (!steps.length || !width) return;
    const room = Math.min(width / steps.length, WIDEST);
    const gap = room > 5 ? 1.5 : room > 2.5 ? 0.5 : 0;
    const tallest = slowest(steps);
    this.column = drawn("rect", { class: "cursor-column", y: 0, width: Math.max(room, 3), height: TICKS });
    this.cursor = drawn("rect", { class: "cursor", y: 0.5, width: Math.max(room - gap, 3), height: TICKS + 1, rx: 2 });
    const all = document.createDocumentFragment();
    all.append(this.column, drawn("path", { class: "base-line", d: `M0 ${TICKS + 0.5}H${width}` }));
    steps.forEach((step, index) => {
      const share = step.seconds === null ? 0.3 : Math.min(Math.sqrt(step.seconds / tallest), 1);
      const height = LOWEST + share * (TICKS - LOWEST - 4);
      const x = index * room;
      all.append(drawn("rect", {
        class: `tick ${step.state} kind-${step.kind}`, x, y: TICKS - height, width: Math.max(room - gap, 0.6), height,
      }));
      if (step.failed) {
        const middle = x + (room - gap) / 2;
        const top = TICKS - height - 6;
        all.append(drawn("path", { class: "tick-failed", d: `M${middle - 3} ${top}h6l-3 5z` }));
      }
    });
    this.lanes.forEach((bands, lane) => {
      for (const band of bands) all.append(...bandOf(band, TICKS + 7 + lane * LANE, room, gap));
    });
    for (const { index } of this.marks) {
      all.append(drawn("circle", { class: "tick-mark", cx: (index + 0.5) * room, cy: 3, r: 3 }));
    }
    all.append(this.cursor);
    this.svg.append(all);
    this.room = room;
    this.show(this.index);
  }

  show(index) {
    this.index = index;
    const step = this.data.steps[index];
    this.root.setAttribute("aria-valuenow", String(index));
    this.root.setAttribute("aria-valuetext", `${step.i} ${step.action}`);
    if (!this.cursor) return;
    this.column.setAttribute("x", String(index * this.room));
    this.cursor.setAttribute("x", String(index * this.room));
  }

  setMarks(marks) {
    this.marks = marks;
    this.draw();
  }

  hover(index) {
    const step = this.data.steps[index];
    const source = blobUrl(this.data, step.thumb || step.image);
    this.preview.hidden = false;
    this.image.hidden = !source;
    if (source && this.image.getAttribute("src") !== source) this.image.src = source;
    const time = seconds(this.data.words, step.seconds);
    this.words.textContent = [step.i, step.action, time].filter((part) => part !== "").join(" · ");
    const box = this.root.getBoundingClientRect();
    const middle = this.svg.getBoundingClientRect().left - box.left + (index + 0.5) * this.room;
    const left = Math.min(Math.max(middle - 100, 4), box.width - 204);
    this.preview.style.left = `${left}px`;
  }
}

// Bands in as few lanes as they need without meeting, events first, then branches.
function lanesOf(data) {
  const bands = data.events.map((event) => ({ ...event }));
  let open = null;
  data.steps.forEach((step, index) => {
    if (step.branch === 0) open = null;
    else if (open?.branch === step.branch) open.last = index;
    else {
      open = { first: index, last: index, branch: step.branch, kind: "branch", label: phrase(data.words.branch, { n: step.branch }) };
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

function bandOf(band, y, room, gap) {
  const from = band.first * room;
  const to = (band.last + 1) * room - gap;
  const isQuiet = ["branch", "model_switch", "rollback"].includes(band.kind);
  const line = drawn("path", { class: `band ${isQuiet ? "branch" : ""}`, d: `M${from} ${y}H${Math.max(to, from + 2)}` });
  if (to - from < 6.2 * band.label.length && to - from < 60) return [line];
  const label = drawn("text", { class: `band-label ${isQuiet ? "branch" : ""}`, x: from, y: y + 12 });
  const fits = Math.floor((to - from) / 5.8);
  label.textContent = band.label.length > fits ? `${band.label.slice(0, Math.max(fits - 1, 1))}…` : band.label;
  return [line, label];
}

// The time that fills a tick: the longest but for a few outliers.
function slowest(steps) {
  const times = steps.map((step) => step.seconds).filter((time) => time !== null).sort((a, b) => a - b);
  return times.length ? Math.max(times[Math.floor(0.95 * (times.length - 1))], 0.001) : 1;
}
