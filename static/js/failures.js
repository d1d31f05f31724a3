// Choosing runs of a list: all at once, and one by one with x.
(() => {
  "use strict";
  const boxes = () => [...document.querySelectorAll("input[form=failure-form][name=run]")];

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
    if (event.target.matches("[data-choose-all], input[form=failure-form]")) showCount();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("textarea, select, dialog, input:not([type=checkbox])")) return;
    const box = document.querySelector(".audit-runs tr.current input[name=run]");
    if (box) box.click();
  });

  // Boxes may be ticked before this script is here.
  const early = document.querySelector("[data-choose-all]:checked");
  if (early) chooseAll(early);
  showCount();
})();
