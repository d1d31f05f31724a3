// The draft of a label: saved as it is written, with the time that somebody was at work on it and what
// of the run was on screen. A part of annotate.js, which sends the label itself.
const SAVE_AFTER_MS = 700;
const BEAT_S = 60; // a sign of life while somebody reads without writing
const IDLE_S = 60; // longer without a move, and the time does not count as work
const RETRY_MS = 5000;

export class Draft {
  // `text` holds address and phrases, `saved` tells when it was saved, `say(words)` what went wrong.
  constructor(form, text, saved, say) {
    Object.assign(this, { form, text, saved, say });
    this.savedAt = saved.dataset.savedAt;
    this.isLeaving = false;
    this.isDirty = false;
    this.hasFailed = false; // the last save did; leaving now would lose something
    this.saving = Promise.resolve();
    this.timer = null;
    this.active = 0; // seconds since the last save
    this.sinceSave = 0;
    this.lastMove = Date.now();
    this.listen();
    this.show();
  }

  listen() {
    for (const name of ["pointermove", "pointerdown", "keydown", "scroll", "wheel"]) {
      document.addEventListener(name, () => (this.lastMove = Date.now()), { passive: true, capture: true });
    }
    setInterval(() => {
      this.sinceSave += 1;
      const isAtWork = document.visibilityState === "visible" && Date.now() - this.lastMove < IDLE_S * 1000;
      if (isAtWork) this.active += 1;
      if (isAtWork && this.sinceSave >= BEAT_S) this.later(0);
    }, 1000);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden" && this.isDirty && !this.isLeaving) this.save();
    });
    addEventListener("beforeunload", (event) => {
      if (this.hasFailed && this.isDirty && !this.isLeaving) event.preventDefault();
    });
  }

  async send() {
    const body = new FormData(this.form);
    const { active: measured, isDirty } = this;
    body.set("seconds", measured.toFixed(1));
    if (!isDirty) body.set("is_sign_of_life", "on"); // the draft may be newer, of another tab
    this.isDirty = false;
    this.sinceSave = 0;
    const headers = { "HX-Request": "true" };
    const sent = fetch(this.text.draftUrl, { method: "POST", body, headers, keepalive: true });
    const response = await sent.catch(() => null);
    if (!response?.ok) {
      this.isDirty ||= isDirty;
      return this.failed(response?.status);
    }
    this.active = Math.max(0, this.active - measured);
    if (isDirty) this.savedAt = Date.now();
    if (!(await response.json()).is_held) this.say(this.text.textLost);
    else if (this.hasFailed) this.say("");
    this.hasFailed = false;
    this.show();
    return true;
  }

  failed(status) {
    const { textLoggedOut, textOffline } = this.text;
    const why = { 401: textLoggedOut, 403: textLoggedOut, 404: document.body.dataset.textGone };
    this.hasFailed = true;
    this.say(why[status] ?? textOffline);
    if (status !== 404) this.later(RETRY_MS);
    return false;
  }

  // Whether it was saved.
  save() {
    clearTimeout(this.timer);
    this.saving = this.saving.then(() => this.send());
    return this.saving;
  }

  later(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.isLeaving || this.save(), delay);
  }

  touched() {
    this.isDirty = true;
    this.show();
    this.later(SAVE_AFTER_MS);
  }

  show() {
    if (this.isDirty) this.saved.textContent = this.text.textUnsaved;
    else if (this.savedAt) {
      const { timeZone } = this.saved.dataset; // as in all other times of the site
      const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone });
      this.saved.textContent = this.text.textSaved.replace("%t", clock.format(new Date(this.savedAt)));
    }
  }
}

// What of the run was on screen: steps while their pane was in sight, and the final answer. The field
// tells the server, in words such as "0-3 7 answer".
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
