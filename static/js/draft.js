// The draft of a label: saved as it is written, with the time that somebody was at work on it. A part
// of annotate.js, which sends the label itself.
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
