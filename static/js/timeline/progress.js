// Progress over the steps, drawn above the scrubber's ticks: a line of stairs for each source, with
// a full diamond where a milestone was reached and a hollow one where it was lost, and the numbers
// beside the name of the source. The lines differ in their dashes, not in colour alone.
import { drawn, element, phrase } from "./words.js";

const HIGH = 40; // from 0 to 100 %
const ROOM = 6; // for diamonds, above and below
const STYLES = 4;

export class ProgressCurves {
  constructor(root, words) {
    this.words = words;
    this.curves = [];
    this.box = element("div", "progress-curves");
    this.box.hidden = true;
    this.legend = element("ul", "progress-legend small");
    this.svg = drawn("svg", { height: HIGH + 2 * ROOM, "aria-hidden": "true" });
    this.box.append(this.legend, this.svg);
    root.prepend(this.box);
    this.rounded = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 });
  }

  // [{label, rates, marks: [{index, name, isLost}]}]; rates in percent by place of the step.
  set(curves) {
    this.curves = curves;
    this.box.hidden = curves.length === 0;
    this.legend.replaceChildren(...curves.map((curve, place) => {
      const item = element("li");
      const sample = drawn("svg", { class: "progress-sample", width: 24, height: 8, "aria-hidden": "true" });
      sample.append(drawn("path", { class: styleOf(place), d: "M0 4H24" }));
      item.append(sample, element("span", "", curve.label), element("span", "num", this.numbers(curve.rates)));
      return item;
    }));
  }

  numbers(rates) {
    const highest = Math.max(0, ...rates);
    const last = rates.at(-1) ?? 0;
    const atEnd = phrase(this.words.progress_end, { n: this.share(last) });
    return highest > last ? `${phrase(this.words.progress_highest, { n: this.share(highest) })}, ${atEnd}` : atEnd;
  }

  share(rate) {
    return `${this.rounded.format(rate)}\u00a0%`;
  }

  // What is to be said of a step: its rates, and the milestones reached or lost there.
  at(index) {
    return this.curves.flatMap(({ label, rates, marks }) => [
      `${label}: ${this.share(rates[index] ?? 0)}`,
      ...marks.filter((mark) => mark.index === index).map(({ name, isLost }) => phrase(isLost ? this.words.progress_lost : this.words.progress_reached, { n: name })),
    ]).join(", ");
  }

  // Over ticks that begin at `left` and are `wide`.
  draw(left, wide, width) {
    if (!this.curves.length || !width) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HIGH + 2 * ROOM}`);
    this.svg.setAttribute("width", String(width));
    const end = Math.max(...left.map((from, index) => from + wide[index]));
    const grid = [0, 50, 100].map((rate) => drawn("path", { class: "progress-grid", d: `M0 ${heightOf(rate)}H${end}` }));
    this.svg.replaceChildren(...grid, ...this.curves.flatMap((curve, place) => lineOf(curve, place, left, wide)));
  }
}

function heightOf(rate) {
  return ROOM + HIGH - (HIGH * rate) / 100;
}

function styleOf(place) {
  return `progress-line style-${place % STYLES}`;
}

function lineOf({ rates, marks }, place, left, wide) {
  let path = `M0 ${heightOf(0)}`;
  rates.forEach((rate, index) => {
    if (wide[index]) path += `V${heightOf(rate)}H${left[index] + wide[index]}`;
  });
  const signs = marks.filter(({ index }) => wide[index]).map(({ index, isLost }) => {
    const middle = left[index] + wide[index] / 2;
    const y = heightOf(rates[index]);
    return drawn("path", { class: `progress-mark ${isLost ? "lost" : ""}`, d: `M${middle - 4} ${y}l4 -4l4 4l-4 4z` });
  });
  return [drawn("path", { class: styleOf(place), d: path }), ...signs];
}
