// The runs table: selection with its bar of actions.
(() => {
  "use strict";
  const root = () => document.getElementById("run-table");
  const boxes = () => [...root().querySelectorAll('td input[name="run"]')];
  // Runs beyond this page that were chosen by the filters; the boxes stand for none of them then.
  const matching = () => root().querySelector("#matching[data-matching]");

  function showSelection() {
    const chosenByFilter = Number(matching()?.dataset.matching);
    for (const box of boxes()) {
      if (chosenByFilter) box.checked = true;
      box.disabled = Boolean(chosenByFilter);
    }
    const chosen = boxes().filter((box) => box.checked);
    for (const box of boxes()) box.closest("tr").setAttribute("aria-selected", String(box.checked));
    const bar = root().querySelector("[data-bulk]");
    if (bar) {
      bar.hidden = chosen.length === 0;
      bar.querySelector("[data-selected-count]").textContent = (chosenByFilter || chosen.length).toLocaleString();
      const compare = bar.querySelector("[data-compares]");
      compare.hidden = chosen.length !== 2 || Boolean(chosenByFilter);
      const more = bar.querySelector("[data-selects-matching]");
      if (more) more.hidden = chosen.length !== boxes().length || Boolean(chosenByFilter);
      if (!compare.hidden) compare.search = new URLSearchParams({ a: chosen[0].value, b: chosen[1].value }).toString();
    }
    const all = root().querySelector("[data-selects-all]");
    if (all) {
      all.checked = chosen.length > 0 && chosen.length === boxes().length;
      all.indeterminate = chosen.length > 0 && !all.checked;
    }
  }

  function select(box, on) {
    if (!box) return;
    box.checked = on;
    showSelection();
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-selects-all]")) {
      boxes().forEach((box) => (box.checked = event.target.checked));
    }
    if (event.target.closest("#run-table")) showSelection();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-selects-none]")) {
      matching()?.replaceChildren();
      matching()?.removeAttribute("data-matching");
      boxes().forEach((box) => (box.checked = false));
      showSelection();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, summary, .sheet")) return;
    const act = {
      x: () => {
        const box = root().querySelector('tr.current input[name="run"]');
        select(box, !box?.checked);
      },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("htmx:afterSettle", () => root() && showSelection());

  // Boxes may be ticked before this script is here.
  const early = document.querySelector("[data-selects-all]:checked");
  if (early) boxes().forEach((box) => (box.checked = true));
  if (root()) showSelection();
})();
