// The list of steps: a row each, notes for anomalies and branches, long identical stretches folded.
import { blobUrl, element, phrase, seconds } from "./words.js";

const ANOMALIES = new Set(["loop", "false_completion"]);
const FOLD_FROM = 8; // shorter stretches stay open
const OPEN_BEFORE = 3;
const OPEN_AFTER = 2;

export class StepList {
  constructor(root, data, go) {
    this.root = root;
    this.data = data;
    this.hits = null; // of a search, by the index of a step
    this.rows = [];
    this.kept = new Map(); // rows by all that they show
    // What goes on is not folded: the reader would lose their place.
    this.folds = data.is_live ? [] : foldsOf(data.steps, data.events);
    this.build();
    root.addEventListener("click", (event) => {
      const fold = event.target.closest(".fold");
      if (fold) return this.unfold(this.folds[Number(fold.dataset.fold)]);
      const note = event.target.closest("[data-to]");
      const row = event.target.closest(".step");
      if (note || row) go(Number(note ? note.dataset.to : row.dataset.index));
    });
  }

  build() {
    const { steps, events, final } = this.data;
    // A list without a step is none to choose from.
    this.root.setAttribute("role", steps.length ? "listbox" : "group");
    const all = document.createDocumentFragment();
    const notes = grouped(events.filter((event) => !event.at_end));
    let branch = 0;
    steps.forEach((step, index) => {
      const before = (notes.get(index) ?? []).map((event) => note(event));
      if (step.branch !== branch) {
        branch = step.branch;
        const way = before.findIndex((one) => one.classList.contains("rollback"));
        const begins = note({ kind: "branch", sign: "↪", label: phrase(this.data.words.branch, { n: branch }) });
        before.splice(way + 1 || before.length, 0, begins); // right after the way back that began it
      }
      const fold = this.folds.find((one) => one.first === index);
      if (fold) before.push(this.foldRow(fold));
      const row = this.stepRow(step, index);
      row.hidden = this.isFolded(index);
      // The notes above a row are read out with it: a list box holds options only.
      before.forEach((one, n) => (one.id = `note-${index}-${n}`));
      if (before.length) row.setAttribute("aria-describedby", before.map((one) => one.id).join(" "));
      this.rows.push(row);
      all.append(...before, row);
    });
    const closing = events.filter((event) => event.at_end).map((event) => note(event));
    if (final.words) {
      const end = note({ kind: "end", sign: final.sign, label: final.words });
      end.classList.add({ "✓": "rescued", "✕": "stuck" }[final.sign] ?? "plain");
      closing.push(end);
    }
    closing.forEach((one, n) => (one.id = `note-end-${n}`));
    const last = this.rows.at(-1);
    if (closing.length && last) {
      const ids = [last.getAttribute("aria-describedby"), ...closing.map((one) => one.id)];
      last.setAttribute("aria-describedby", ids.filter(Boolean).join(" "));
    }
    all.append(...closing);
    this.root.append(all);
  }

  // After steps came or changed. The list stays where it is, and so do rows that did not change.
  renew() {
    const top = this.root.scrollTop;
    this.rows = [];
    this.root.replaceChildren();
    this.build();
    this.showHits(this.hits);
    this.root.scrollTop = top;
  }

  stepRow(step, index) {
    const within = this.data.events.filter((event) => event.first <= index && index <= event.last);
    const shown = JSON.stringify([index, step, within.map((event) => event.kind)]);
    const row = this.kept.get(shown) ?? this.newRow(step, index, within);
    if (this.data.is_live) this.kept.set(shown, row);
    return row;
  }

  newRow(step, index, within) {
    const { words, kinds } = this.data;
    const anomaly = within.find((event) => ANOMALIES.has(event.kind));
    const isByOther = within.some((event) => event.kind === "model_switch");
    const row = element("li", `step ${step.state}`);
    row.classList.toggle("in-anomaly", Boolean(anomaly));
    row.classList.toggle("by-other", isByOther);
    row.classList.toggle("has-effect", step.effect !== undefined);
    row.id = `row-${index}`;
    row.dataset.index = String(index);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    const thumb = element(step.thumb || step.image ? "img" : "span", "thumb");
    if (step.thumb || step.image) {
      thumb.loading = "lazy";
      thumb.alt = "";
      thumb.src = blobUrl(this.data, step.thumb || step.image);
    }
    const meta = element("span", "meta");
    meta.append(element("span", `kind kind-${step.kind}`));
    if (step.effect) meta.append(element("span", "effect", words[step.effect]));
    const parts = [
      !step.effect && (kinds[step.kind] ?? step.kind),
      step.replays === undefined ? step.state !== "live" && words[step.state] : phrase(words.replays, { n: step.replays }),
      anomaly && (anomaly.kind === "loop" ? words.looped : words.claimed),
      isByOther && words.by_other,
      seconds(words, step.seconds),
    ];
    // What went wrong stands first: where there is no room, the end is cut.
    if (step.failed) meta.append(element("span", "failed", `✕ ${words.failed}`));
    if (step.problem) meta.append(element("span", "failed problem", `⚠ ${step.unanswered ? words.unanswered : words.problem}`));
    meta.append(element("span", "truncate", parts.filter(Boolean).join(" · ")));
    row.append(
      element("span", "n", String(step.i)),
      thumb,
      element("span", "action", step.action || words.no_action),
      meta,
    );
    return row;
  }

  foldRow(fold) {
    const { words } = this.data;
    const row = element("li", `fold ${this.data.steps[fold.first].state}`);
    row.setAttribute("role", "presentation");
    row.dataset.fold = String(this.folds.indexOf(fold));
    const phraseOf = fold.isLoop ? words.looping : words.identical;
    // No button: a list box holds options only. The keyboard walks the folded steps one by one.
    fold.words = `… ${phrase(phraseOf, { n: fold.last - fold.first + 1 })}`;
    row.append(element("span", "", fold.words));
    fold.row = row;
    return row;
  }

  isFolded(index) {
    return this.folds.some((one) => index >= one.first && index <= one.last);
  }

  unfold(fold) {
    fold.row.remove();
    this.folds.splice(this.folds.indexOf(fold), 1);
    this.showHits(this.hits);
    this.folds.forEach((one, place) => (one.row.dataset.fold = String(place)));
  }

  show(index, { scrolls = true } = {}) {
    this.root.querySelector('.step[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    for (const fold of this.folds) {
      const isIn = index >= fold.first && index <= fold.last;
      fold.row.classList.toggle("current", isIn);
      fold.row.firstChild.textContent = isIn ? `${fold.words} · ${this.data.steps[index].i}` : fold.words;
    }
    const row = this.rows[index];
    row.setAttribute("aria-selected", "true");
    this.root.setAttribute("aria-activedescendant", row.id);
    const shown = row.hidden ? this.folds.find((fold) => index >= fold.first && index <= fold.last)?.row ?? row : row;
    if (scrolls) scrollInto(this.root, shown);
  }

  hideGivenUp(isOn) {
    this.root.classList.toggle("hides-given-up", isOn);
  }

  // Only the steps that a search found, or all of them again.
  showHits(hits) {
    this.hits = hits;
    this.root.classList.toggle("searches", hits !== null);
    this.rows.forEach((row, index) => {
      row.hidden = hits ? !hits.has(index) : this.isFolded(index);
      row.classList.toggle("in-tree", hits?.get(index) ?? false);
    });
  }

  setMarks(marks) {
    for (const old of this.root.querySelectorAll(".mark")) old.remove();
    for (const { index, text } of marks) {
      this.rows[index]?.querySelector(".meta").append(element("span", "mark", text));
    }
  }
}

function grouped(events) {
  const groups = new Map();
  for (const event of events) groups.set(event.first, [...(groups.get(event.first) ?? []), event]);
  return groups;
}

// A line between steps. One that tells of a way back leads to the step it went back to.
function note({ kind, sign, label, to }) {
  const row = element("li", `step-note ${kind}`);
  row.setAttribute("role", "presentation");
  row.append(element("span", "", sign), element("span", "", label));
  if (to !== undefined) row.dataset.to = String(to);
  return row;
}

// Stretches of equal steps, and the middle of long loops, that stand as one line until opened.
function foldsOf(steps, events) {
  const folds = [];
  const same = (a, b) => a.action !== "" && a.action === b.action && a.state === b.state && a.branch === b.branch;
  for (let first = 0; first < steps.length; ) {
    let last = first;
    while (last + 1 < steps.length && same(steps[first], steps[last + 1])) last += 1;
    if (last - first + 1 >= FOLD_FROM) {
      folds.push({ first: first + OPEN_BEFORE, last: last - OPEN_AFTER, isLoop: false });
    }
    first = last + 1;
  }
  for (const event of events) {
    const fold = { first: event.first + 2 * OPEN_BEFORE, last: Math.min(event.last, steps.length - 1) - OPEN_AFTER, isLoop: true };
    const meets = folds.some((one) => one.first <= fold.last && fold.first <= one.last);
    if (event.kind === "loop" && !meets && fold.last - fold.first + 1 >= FOLD_FROM) folds.push(fold);
  }
  return folds;
}

// Keeps the row in sight with a neighbour on each side, without moving anything but the list.
function scrollInto(list, row) {
  const margin = 56;
  const top = row.offsetTop - list.offsetTop;
  if (top - margin < list.scrollTop) list.scrollTop = top - margin;
  else if (top + row.offsetHeight + margin > list.scrollTop + list.clientHeight) {
    list.scrollTop = top + row.offsetHeight + margin - list.clientHeight;
  }
}
