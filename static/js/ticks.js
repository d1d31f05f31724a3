// Ticking milestones by keyboard, and the progress that the ticks make. A part of annotate.js, which
// saves the form and knows which step is shown.
export class Ticks {
  // `step()` gives the number of the step that is shown.
  constructor(root, step) {
    this.step = step;
    this.rows = [...root.querySelectorAll("[data-tick]")];
    this.sum = root.querySelector("[data-tick-sum]");
    this.textOpen = root.dataset.textOpen;
    this.changed();
  }

  get open() {
    return this.rows.filter((row) => answerOf(row) === "");
  }

  // m: reached here; n: not reached; l: lost here. For the row with the focus, or else the first
  // open one, and the last reached one. While any is open, an answered one is not answered anew.
  // Says whether there was such a row.
  press(key) {
    const focused = this.rows.find((row) => row.contains(document.activeElement));
    const reached = this.rows.filter((row) => answerOf(row) === "yes");
    const last = reached.includes(focused) ? focused : reached.at(-1);
    const next = this.open.includes(focused) ? focused : this.open[0] ?? focused;
    const row = key === "l" ? last : next;
    if (!row) return false;
    if (key === "l") {
      if (this.step() <= Number(fieldOf(row, "step").value)) return false; // before it was reached
      fieldOf(row, "lost_step").value = String(this.step());
    } else {
      row.querySelector(`input[value="${key === "m" ? "yes" : "no"}"]`).checked = true;
      fieldOf(row, "step").value = key === "m" ? String(this.step()) : "";
      fieldOf(row, "lost_step").value = "";
    }
    if (key !== "l" && focused) document.activeElement.blur(); // the next key is for another row
    row.scrollIntoView({ block: "nearest" });
    fieldOf(row, "step").dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  }

  // A click on "reached" takes the step that is shown, unless one is given already.
  chosen(input) {
    const row = this.rows.find((one) => one.contains(input));
    if (!row || input.type !== "radio") return;
    const step = fieldOf(row, "step");
    if (input.value === "yes" && step.value === "") step.value = String(this.step());
  }

  changed() {
    const current = this.open[0];
    for (const row of this.rows) row.toggleAttribute("data-current", row === current);
    const { maximum, final } = this.progress([0, Infinity]);
    const percent = (share) => `${Math.round(share)}\u00a0%`;
    this.sum.textContent = maximum > final ? `${percent(maximum)} → ${percent(final)}` : percent(final);
  }

  // The milestones as they are ticked; one reached before an ordered one that comes first does not
  // count. The server computes the same from what is stored.
  get found() {
    let since = 0;
    return this.rows.map((row) => {
      const number = (part) => (fieldOf(row, part).value === "" ? null : Number(fieldOf(row, part).value));
      let at = answerOf(row) === "yes" ? number("step") : null;
      if (row.hasAttribute("data-ordered")) {
        if (since === null || (at !== null && at < since)) at = null;
        since = at;
      }
      return { name: row.dataset.name, weight: Number(row.dataset.weight), at, lost: at === null ? null : number("lost_step") };
    });
  }

  // The rates in percent after each of these steps, with the highest of all and the last.
  progress(steps) {
    const { found } = this;
    const whole = found.reduce((sum, one) => sum + one.weight, 0);
    const rate = (step) => {
      const holds = (one) => one.at !== null && one.at <= step && (one.lost === null || step < one.lost);
      return (100 * found.filter(holds).reduce((sum, one) => sum + one.weight, 0)) / whole;
    };
    const edges = found.flatMap((one) => (one.at === null ? [] : [one.at]));
    return { rates: steps.map(rate), maximum: Math.max(0, ...edges.map(rate)), final: rate(Infinity), found };
  }
}

function answerOf(row) {
  return row.querySelector("input[type=radio]:checked")?.value ?? "";
}

function fieldOf(row, part) {
  return row.querySelector(`[data-part="${part}"]`);
}
