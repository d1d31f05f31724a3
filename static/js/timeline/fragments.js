// Parts of a step that the server lays out when they are looked at: details, prompts.
const WAIT_MS = 150;

export class Fragment {
  // `path` is what follows on the step's own address; `filled` is called when the part is there.
  constructor(target, data, path = "", filled = () => {}) {
    this.target = target;
    this.data = data;
    this.path = path;
    this.filled = filled;
    this.turn = 0;
  }

  // Waits a moment, so that running through the steps asks for none on the way.
  show(step) {
    const turn = (this.turn += 1);
    setTimeout(async () => {
      if (turn !== this.turn) return;
      const url = this.data.step_url.replace(/0\/$/, `${step.i}/${this.path}`);
      await window.htmx.ajax("GET", url, { target: this.target, swap: "innerHTML" });
      if (turn === this.turn) this.filled();
    }, WAIT_MS);
  }

  clear() {
    this.turn += 1;
    this.target.replaceChildren();
  }
}
