// Keys of the form of causes (each choice and button has its own, shown beside it), of the walk
// through a cell, and of lists whose runs are chosen. Forms and links come and go with fragments,
// so this listens once, to the whole page.
(() => {
  "use strict";
  if (document.documentElement.dataset.causeKeys) return;
  document.documentElement.dataset.causeKeys = "on";

  const BOXES = "input[form=cause-form][name=item], input[form=failure-form][name=run]";
  const bulk = () => document.querySelector("[data-bulk-causes]");
  const boxes = () => [...document.querySelectorAll(BOXES)];

  function chooseAll(all) {
    for (const box of boxes()) box.checked = all.checked;
  }

  function showCount() {
    const place = document.querySelector("[data-chosen-count]");
    const n = boxes().filter((box) => box.checked).length;
    if (place) place.textContent = n ? String(n) : "";
    const all = document.querySelector("[data-choose-all]");
    if (all) all.checked = n > 0 && n === boxes().length;
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-choose-all]")) chooseAll(event.target);
    if (event.target.matches(`[data-choose-all], ${BOXES}`)) showCount();
  });

  function press(form, key) {
    const place = [...form.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
    if (!place) return false;
    place.click();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.target instanceof Element) || document.querySelector("dialog[open]")) return;
    if (event.target.closest("textarea, select, input:not([type=checkbox], [type=radio])")) return;
    const form = document.querySelector("[data-causes]");
    if (form) {
      if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
      if (press(form, event.key)) event.preventDefault();
    } else if (bulk()?.open && press(bulk(), event.key)) event.preventDefault();
    else if (event.key === "x") document.querySelector(`.audit-runs tr.current :is(${BOXES})`)?.click();
    else if (event.key === "t" && bulk()) bulk().open = !bulk().open;
  });

  // From run to run of a cell: n is the next one, p the one before.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !"np".includes(event.key)) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog")) return;
    const link = document.querySelector(`[data-walk="${event.key}"]`);
    if (!link) return;
    event.preventDefault();
    link.click();
  });

  // Boxes may be ticked before this script is here.
  const early = document.querySelector("[data-choose-all]:checked");
  if (early) chooseAll(early);
  showCount();
})();
