// A label just given can be taken back for ten seconds: by the button, or by `u`.
for (const form of document.querySelectorAll("[data-undo]")) {
  setTimeout(() => form.remove(), Number(form.dataset.seconds) * 1000);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("textarea, select, input:not([type=radio], [type=checkbox])")) return;
  if (document.querySelector("dialog[open], [data-waits]")) return;
  document.querySelector("[data-undo]")?.requestSubmit();
});
