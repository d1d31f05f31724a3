// The page of a run that goes on: brings what is new to its timeline, and says how it stands.
import { phrase, seconds } from "./timeline/words.js";

const SAYS_EVERY_MS = 30_000; // to ears; eyes see every step

class Live {
  constructor(note, timeline) {
    this.timeline = timeline;
    this.words = timeline.data.words;
    this.button = note.querySelector("[data-newest]");
    this.count = note.querySelector("[data-new]");
    this.says = note.querySelector("[data-live-says]");
    this.known = timeline.count; // steps that were there when the reader stopped following
    this.saidAt = Date.now();
    this.saidCount = timeline.count;
    this.button.addEventListener("click", () => this.timeline.follow());
    timeline.root.addEventListener("step-changed", () => this.show());
    timeline.list.root.addEventListener("wheel", () => this.show(), { passive: true });
    setInterval(() => this.showSilence(), 1000);
    this.hear();
  }

  get facts() {
    return document.getElementById("run-live");
  }

  // The news that the last answer brought, if it was one.
  hear() {
    this.heardAt = Date.now();
    const held = document.getElementById("live-news");
    if (held) {
      const news = JSON.parse(held.textContent);
      held.remove();
      this.timeline.extend(news);
      if (news.ended) this.end();
    }
    this.show();
    this.showSilence();
    this.say();
  }

  show() {
    const { timeline } = this;
    if (timeline.follows) this.known = timeline.count;
    const isNew = timeline.count - this.known;
    const isIdle = timeline.follows || !timeline.isLive;
    // A button that goes hands the keyboard on.
    if (isIdle && document.activeElement === this.button) timeline.list.root.focus({ preventScroll: true });
    this.button.hidden = isIdle;
    this.count.textContent = isNew > 0 ? phrase(this.words.live_new, { n: isNew }) : "";
  }

  // How long nothing was heard, counted on from what the server said.
  showSilence() {
    const place = this.facts.querySelector("[data-silent]");
    if (!place) return;
    const silent = Number(place.dataset.silent) + Math.round((Date.now() - this.heardAt) / 1000);
    place.textContent = this.isLost
      ? this.words.live_lost
      : phrase(this.words.heard, {
          n: silent < 120
            ? seconds(this.words, silent)
            : phrase(this.words.minutes, { n: Math.round(silent / 60) }),
        });
  }

  lose(isLost) {
    this.isLost = isLost;
    this.showSilence();
  }

  say() {
    const { count, isLive } = this.timeline;
    const isDue = Date.now() - this.saidAt > SAYS_EVERY_MS && count !== this.saidCount;
    if (isLive && !isDue) return;
    this.saidAt = Date.now();
    this.saidCount = count;
    this.says.textContent = isLive ? phrase(this.words.live_steps, { n: count }) : this.words.live_ended;
  }

  // Head and judgements as they are now, unless somebody is at work there.
  end() {
    const head = document.querySelector(".where");
    const address = location.pathname + location.search;
    if (head && !head.contains(document.activeElement)) {
      window.htmx.ajax("GET", address, { target: head, select: ".where", swap: "outerHTML" });
    }
    const judge = document.getElementById("judge");
    if (judge && !judge.contains(document.activeElement)) {
      window.htmx.ajax("GET", judge.getAttribute("hx-get"), { target: judge, swap: "innerHTML" });
    }
  }
}

function mount() {
  const note = document.querySelector(".notice.live");
  const timeline = document.querySelector("[data-timeline]")?.timeline;
  if (!note || !timeline) return;
  const live = new Live(note, timeline);
  const isOurs = (event) => event.detail.elt?.id === "run-live";
  document.addEventListener("htmx:load", (event) => isOurs(event) && live.hear());
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isOurs(event) && document.hidden) event.preventDefault(); // nobody looks
  });
  document.addEventListener("htmx:sendError", (event) => isOurs(event) && live.lose(true));
  document.addEventListener("htmx:responseError", (event) => isOurs(event) && live.lose(true));
  document.addEventListener("htmx:afterRequest", (event) => {
    if (isOurs(event) && event.detail.successful) live.lose(false);
  });
}

mount();
