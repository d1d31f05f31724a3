// What of the run was on screen: steps while their pane was in sight, and the final answer. A part of
// annotate.js. The field tells the server, in words such as "0-3 7 answer".
export class Seen {
  constructor(root, field) {
    this.root = root;
    this.field = field;
    this.key = `seen-${field.form.elements.assignment.value}`;
    this.steps = new Set();
    this.hasAnswer = false;
    this.read(`${field.value} ${sessionStorage.getItem(this.key) ?? ""}`);
    this.stage = root.querySelector("[data-stage]");
    for (const name of ["ready", "step-shown"]) root.addEventListener(name, () => this.note());
    document.addEventListener("visibilitychange", () => this.note());
    // Another pane of a phone, once it is laid out.
    document.addEventListener("click", (event) => event.target.closest("[data-pane]") && setTimeout(() => this.note()));
    new IntersectionObserver(([answer]) => {
      if (!answer.isIntersecting) return;
      this.hasAnswer = true;
      this.tell();
    }).observe(root.querySelector('[data-text="answer"]'));
    this.note();
  }

  // Whether what decides most runs was in sight: the last step, or the final answer.
  get hasEnd() {
    const { steps } = this.root.timeline;
    return !steps.length || this.hasAnswer || this.steps.has(steps.at(-1).i);
  }

  note() {
    const { step, isReady } = this.root.timeline;
    if (!step || !isReady || document.visibilityState !== "visible" || !this.stage.checkVisibility()) return;
    this.steps.add(step.i);
    this.tell();
  }

  tell() {
    const spans = [];
    let follows = false;
    for (const { i } of this.root.timeline.steps) {
      if (!this.steps.has(i)) follows = false;
      else {
        if (follows) spans.at(-1)[1] = i;
        else spans.push([i]);
        follows = true;
      }
    }
    const words = [...spans.map((span) => span.join("-")), ...(this.hasAnswer ? ["answer"] : [])];
    this.field.value = words.join(" ") || "nothing";
    sessionStorage.setItem(this.key, this.field.value);
  }

  read(words) {
    this.hasAnswer = /\banswer\b/.test(words);
    for (const [, first, last] of words.matchAll(/(\d{1,9})(?:-(\d{1,9}))?/g)) {
      for (const { i } of this.root.timeline.steps) {
        if (Number(first) <= i && i <= Number(last ?? first)) this.steps.add(i);
      }
    }
  }
}
