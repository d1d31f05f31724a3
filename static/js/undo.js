// The label just given is shown for what is left of its ten seconds; one that can be undone is so by
// its button, or by `u`.
for (const given of document.querySelectorAll("[data-given]")) {
  setTimeout(() => given.remove(), Number(given.dataset.seconds) * 1000);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("textarea, select, input:not([type=radio], [type=checkbox])")) return;
  if (document.querySelector("dialog[open], [data-waits]")) return;
  document.querySelector("form[data-given]")?.requestSubmit();
});
