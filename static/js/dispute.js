// Puts the annotators' remarks on the timeline, under their letters.
const page = document.querySelector("[data-dispute]");

function showMarks() {
  const timeline = page.querySelector("[data-timeline]").timeline;
  const places = new Map(timeline.steps.map((step, place) => [step.i, place]));
  const marks = new Map();
  for (const item of page.querySelectorAll("[data-comment-index]")) {
    const index = places.get(Number(item.dataset.commentIndex));
    marks.set(index, `${marks.get(index) ?? ""}✎${item.dataset.letter}`);
  }
  timeline.setMarks([...marks].map(([index, text]) => ({ index, text })));
}

page.addEventListener("ready", showMarks);
if (page.querySelector("[data-timeline]").timeline?.isReady) showMarks();
