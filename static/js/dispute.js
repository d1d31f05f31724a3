// Puts the annotators' remarks on the timeline, under their letters, and takes the keys that decide.
const page = document.querySelector("[data-dispute]");
const decision = page.querySelector("[data-decision]"); // there for adjudicators alone
let isReady = false; // nobody can decide on a run they have not seen

function becomeReady() {
  const timeline = page.querySelector("[data-timeline]").timeline;
  const places = new Map(timeline.steps.map((step, place) => [step.i, place]));
  const marks = new Map();
  for (const item of page.querySelectorAll("[data-comment-index]")) {
    const index = places.get(Number(item.dataset.commentIndex));
    marks.set(index, `${marks.get(index) ?? ""}✎${item.dataset.letter}`);
  }
  timeline.setMarks([...marks].map(([index, text]) => ({ index, text })));
  isReady = true;
}

function showDecision() {
  page.querySelector('[data-pane="judge"]').click();
}

// The same keys as when labelling.
document.addEventListener("keydown", (event) => {
  if (!decision || !isReady || event.altKey || event.repeat) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("dialog") || document.querySelector("dialog[open]")) return;
  const isWriting = target.closest("textarea, select, input:not([type=radio])");
  const withCtrl = event.ctrlKey || event.metaKey;
  if (event.key === "Enter") {
    // While typing with Ctrl, and of texts only in the reason: a comment is not the decision.
    if (isWriting ? !withCtrl || target.form !== decision : target.closest("button, a, summary")) return;
    event.preventDefault();
    showDecision();
    return decision.requestSubmit();
  }
  if (withCtrl || isWriting) return;
  const choice = decision.querySelector(`[data-key="${CSS.escape(event.key)}"] input`);
  if (!choice && event.key !== "r") return;
  event.preventDefault();
  showDecision();
  if (choice) choice.checked = true;
  else decision.elements.rationale.focus();
});

page.addEventListener("ready", becomeReady);
if (page.querySelector("[data-timeline]").timeline?.isReady) becomeReady();
