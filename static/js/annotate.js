// Labelling by keyboard, with a draft that is saved as it is written and time that is measured.
// The page works without this: the form posts, the draft is what the last post held.
import { Draft, Seen } from "./draft.js";
import { Ticks } from "./ticks.js";

const page = document.querySelector("[data-annotate]");
const form = page.querySelector("[data-label-form]");
const skipForm = document.querySelector("#skip form");
const cancelForm = page.querySelector("[data-cancel]");
const submit = page.querySelector(".submit");
const saved = document.querySelector("[data-saved]");
const problem = page.querySelector("[data-form-problem]");
const text = page.dataset;

const READ_MS = 400; // a warning is read before the same key counts again

const fields = (name) => [...form.elements].filter((element) => element.name === name);
const timeline = () => page.querySelector("[data-timeline]").timeline;

const ticks = page.querySelector("[data-tick-form]") && new Ticks(page.querySelector("[data-tick-form]"), () => timeline().step.i);
const seen = new Seen(page.querySelector("[data-timeline]"), page.querySelector("[data-seen]"));
const draft = new Draft(form, text, saved, say);

let isReady = false; // nobody can judge a run they have not seen
let warnedAt = null; // that the end was not on screen

function say(words) {
  problem.textContent = words;
  problem.hidden = !words;
}

// The form

function choose(name, value) {
  const field = fields(name).find((one) => one.value === value);
  if (!field) return;
  field.checked = true;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function toggleCause(place) {
  const cause = fields("causes")[place];
  if (!cause || page.querySelector("[data-why]").hidden) return;
  cause.checked = !cause.checked;
  cause.dispatchEvent(new Event("input", { bubbles: true }));
}

function moreSure(by) {
  const all = fields("confidence");
  const now = all.findIndex((one) => one.checked);
  const next = all[now < 0 ? (by > 0 ? all.length - 1 : 0) : Math.min(Math.max(now + by, 0), all.length - 1)];
  choose("confidence", next.value);
}

function takeStep() {
  if (page.querySelector("[data-why]").hidden) return;
  const field = form.elements.failure_step;
  field.value = String(timeline().step.i);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function showCauses() {
  const chosen = fields("success").find((one) => one.checked);
  page.querySelector("[data-why]").hidden = page.querySelector("[data-shows-why]").hidden = chosen?.value !== "failure";
}

async function leave() {
  if (draft.isLeaving) return;
  if (!isReady) return say(text.textLoading);
  if (!fields("success").some((one) => one.checked)) return say(text.textChoose);
  const verdict = fields("success").find((one) => one.checked).value;
  if (ticks?.open.length && ["success", "failure"].includes(verdict)) {
    say(ticks.textOpen);
    showPane("judge");
    return ticks.open[0].scrollIntoView({ block: "nearest" });
  }
  if (!seen.hasEnd && (warnedAt === null || Date.now() - warnedAt < READ_MS)) {
    warnedAt ??= Date.now();
    return say(text.textUnseen);
  }
  setLeaving(true);
  if (!(await draft.save())) return setLeaving(false); // said why; nothing is lost
  form.elements.seconds.value = draft.active.toFixed(1);
  form.submit();
}

// Without a session the reason would be lost, so the draft is sent first.
async function skip(event) {
  event.preventDefault();
  if (draft.isLeaving) return;
  setLeaving(true);
  if (await draft.save()) return skipForm.submit();
  setLeaving(false);
  skipForm.closest("dialog").close(); // said why, behind it
}

// What is being saved at this moment may not come after it.
async function cancel(event) {
  event.preventDefault();
  setLeaving(true);
  await draft.saving;
  cancelForm.submit();
}

function setLeaving(is) {
  draft.isLeaving = is;
  submit.disabled = is;
  page.toggleAttribute("data-waits", is || !isReady);
}

// The radio buttons stand outside the form element, so listen on the whole page.
page.addEventListener("input", (event) => {
  if (event.target.form !== form) return;
  if (event.target.name === "success") {
    showCauses();
    say("");
  }
  ticks?.chosen(event.target);
  ticks?.changed();
  showMarks();
  draft.touched();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  leave();
});
skipForm.addEventListener("submit", skip);
cancelForm?.addEventListener("submit", cancel);
page.querySelector("[data-take-step]").addEventListener("click", takeStep);
page.querySelector("[data-shows-why]").addEventListener("click", () => {
  showPane("judge");
  page.querySelector("[data-why]").scrollIntoView();
});
addEventListener("pageshow", (event) => event.persisted && location.reload());

// Comments and marks on the timeline

const commentStep = page.querySelector("[data-comment-step]");
const commentText = page.querySelector("[data-comment-text]");

function showMarks() {
  if (!timeline()) return;
  const marks = new Map();
  const add = (index, sign) => marks.set(index, `${marks.get(index) ?? ""}${sign}`);
  for (const item of page.querySelectorAll("[data-comments] > li")) add(Number(item.dataset.index), "✎");
  const failedAt = form.elements.failure_step.value;
  if (failedAt !== "" && !page.querySelector("[data-why]").hidden) add(Number(failedAt), "⚑");
  for (const one of ticks?.found ?? []) {
    if (one.at !== null) add(one.at, "◆");
    if (one.lost !== null) add(one.lost, "◇");
  }
  const places = new Map(timeline().steps.map((step, place) => [step.i, place]));
  timeline().setMarks([...marks].map(([index, sign]) => ({ index: places.get(index), text: sign })));
  if (ticks) showProgress();
}

function showProgress() {
  const { rates, found } = ticks.progress(timeline().steps.map((step) => step.i));
  timeline().setProgress([{ rates, milestones: found.filter((one) => one.at !== null), label: text.textOwnProgress }]);
}

function comment() {
  showPane("judge");
  commentStep.value = String(timeline().step.i);
  commentText.focus();
}

function showPane(name) {
  page.querySelector(`[data-pane="${name}"]`).click();
}

document.addEventListener("htmx:afterSwap", (event) => {
  if (!event.target.closest?.(".comments")) return;
  showMarks();
  if (event.detail.requestConfig?.elt?.matches("[data-comment-form]") && page.querySelector("[data-is-kept]")) {
    commentText.blur();
    // Emptied by hand, the field would stand there as filled in wrongly.
    commentText.form.reset();
    commentStep.value = String(timeline().step.i);
  }
});

function showCommentStep() {
  if (document.activeElement !== commentText && !commentText.value) commentStep.value = String(timeline()?.step?.i ?? 0);
}

page.addEventListener("step-changed", showCommentStep);
page.addEventListener("ready", becomeReady);

function becomeReady() {
  isReady = true;
  showCommentStep();
  page.removeAttribute("data-waits");
  page.dataset.isReady = "";
  showMarks();
}

// Keys

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  const isWriting = target.closest("textarea, select, input:not([type=radio], [type=checkbox])");
  const isInDialog = target.closest("dialog") || document.querySelector("dialog[open]");
  if (event.key === "Enter" && event.repeat && (event.ctrlKey || event.metaKey || !isWriting)) return event.preventDefault();
  // Whoever is used to it presses Ctrl also where Enter alone would do.
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && (target.form === form || !(isWriting || isInDialog))) {
    event.preventDefault();
    return leave();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting || isInDialog) return;
  if (event.key === "Enter") {
    if (target.closest("button, a, summary")) return;
    event.preventDefault();
    return leave();
  }
  if (!isReady || draft.isLeaving) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
  if (digit && (event.shiftKey || target.closest("[data-why]"))) {
    event.preventDefault();
    return toggleCause(Number(digit) - 1);
  }
  const act = {
    ...Object.fromEntries(fields("success").map((one, place) => [String(place + 1), () => choose("success", one.value)])),
    f: takeStep,
    c: comment,
    r: () => (showPane("judge"), form.elements.rationale.focus()),
    "+": () => moreSure(1),
    "-": () => moreSure(-1),
    ...(ticks ? { m: () => ticks.press("m"), n: () => ticks.press("n"), l: () => ticks.press("l") } : {}),
    s: () => document.querySelector('[data-opens-dialog="skip"]')?.click(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// A label that came back: what is wrong may lie below the guidelines, out of sight.
function showWrong() {
  const wrong = [...page.querySelectorAll(".judge-scroll :is(ul.errors, .message.error)")];
  if (!wrong.length) return;
  showPane("judge");
  say(wrong.map((one) => one.textContent.trim()).join(" "));
  wrong[0].scrollIntoView({ block: "center" });
}

page.toggleAttribute("data-waits", true);
showCauses();
showWrong();
if (timeline()?.isReady) becomeReady();
