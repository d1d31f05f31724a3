// Thought, action, error, page and what the step cost; long runs bring their texts in parts.
import { phrase, seconds } from "./words.js";

export class Texts {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.asked = new Set();
    this.index = 0;
  }

  show(index) {
    this.index = index;
    const texts = this.data.texts[this.data.steps[index].i];
    if (texts) this.fill(index, texts);
    else this.fetchPart(index);
  }

  // Texts of steps that came later.
  add(texts) {
    Object.assign(this.data.texts, texts);
    this.asked.clear();
  }

  fill(index, texts) {
    const step = this.data.steps[index];
    const { words, final } = this.data;
    const put = (name, text) => (this.root.querySelector(`[data-text="${name}"]`).textContent = text);
    put("thought", texts.thought || "—");
    put("action", texts.action || words.no_action);
    put("target", step.target);
    put("error", texts.error);
    put("title", texts.title);
    put("problem", step.problem ?? "");
    put("course", this.course(step, index));
    this.row("error", Boolean(texts.error));
    this.row("problem", Boolean(step.problem));
    this.row("course", this.course(step, index) !== "");
    const isLast = index === this.data.steps.length - 1;
    this.row("answer", isLast && final.answer !== null);
    put("answer", final.answer ?? "");
    this.row("end", isLast && final.words !== "");
    put("end", `${final.sign} ${final.words}`.trim());
    this.link(texts.url);
    put("spent", this.spent(step, texts));
    this.root.scrollTop = 0;
  }

  // What recovery has to do with the step, in words.
  course(step, index) {
    const { words, events } = this.data;
    const within = events.filter((event) => event.first <= index && index <= event.last && event.kind !== "given_up");
    const state = step.replays !== undefined ? phrase(words.replays, { n: step.replays }) : words[step.state] ?? "";
    return [state, ...within.map((event) => event.label)].filter(Boolean).join(" · ");
  }

  row(name, isShown) {
    for (const part of this.root.querySelectorAll(`[data-row="${name}"]`)) part.hidden = !isShown;
  }

  // A link for addresses of web pages only; anything else is mere text.
  link(url) {
    const link = this.root.querySelector('[data-text="url"]');
    link.textContent = url;
    if (/^https?:\/\//i.test(url)) link.href = url;
    else link.removeAttribute("href");
  }

  spent(step, texts) {
    const { words } = this.data;
    const parts = [seconds(words, step.seconds)];
    const [tokensIn, tokensOut] = texts.tokens ?? [null, null];
    if (tokensIn !== null || tokensOut !== null) {
      const shown = (count) => (count === null ? "—" : count.toLocaleString(document.documentElement.lang));
      parts.push(phrase(words.tokens, { in: shown(tokensIn), out: shown(tokensOut) }));
      if (texts.cost === null) parts.push(words.no_price);
    }
    if (texts.cost) parts.push(`$${Number(texts.cost).toFixed(4)}`);
    return parts.filter(Boolean).join(" · ") || "—";
  }

  // Those of all steps, of a run that brings them in parts.
  async fetchAll() {
    for (const step of this.data.steps) {
      if (this.data.texts[step.i] || this.asked.has(this.firstOf(step))) continue;
      await this.ask(this.firstOf(step));
    }
  }

  firstOf(step) {
    return Math.floor(step.i / this.data.part) * this.data.part;
  }

  async fetchPart(index) {
    const { words } = this.data;
    const step = this.data.steps[index];
    this.fill(index, { thought: words.loading, action: step.action, url: "", title: "", error: "" });
    if (this.asked.has(this.firstOf(step))) return;
    const came = await this.ask(this.firstOf(step));
    if (!came && this.index === index) this.root.querySelector('[data-text="thought"]').textContent = words.failed_load;
    if (came && this.data.texts[this.data.steps[this.index].i]) this.show(this.index);
  }

  // Whether the part that begins there came.
  async ask(first) {
    this.asked.add(first);
    try {
      const answer = await fetch(`${this.data.texts_url}?from=${first}`, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      Object.assign(this.data.texts, (await answer.json()).texts);
      return true;
    } catch {
      this.asked.delete(first);
      return false;
    }
  }
}
