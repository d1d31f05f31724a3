// The curves of a run's progress: from the pane that brought them to the timeline that draws them.
function draw() {
  const held = document.getElementById("run-progress");
  const timeline = document.querySelector("[data-timeline]")?.timeline;
  if (!held || !timeline) return;
  const curves = JSON.parse(held.textContent);
  timeline.setProgress(curves.map((curve) => ({
    ...curve,
    rates: timeline.steps.map((step) => curve.rates[step.i] ?? curve.rates.at(-1) ?? 0),
  })));
}

document.addEventListener("htmx:load", draw);
document.addEventListener("ready", draw);
draw();
