// Keys of the form of causes: each choice and button has its own, shown beside it. The form comes
// and goes with fragments, so this listens once, to the whole page.
(() => {
  "use strict";
  if (document.documentElement.dataset.causeKeys) return;
  document.documentElement.dataset.causeKeys = "on";

  const bulk = () => document.querySelector("[data-bulk-causes]");
  const boxes = () => [...document.querySelectorAll("input[form=cause-form][name=item]")];

  function showCount() {
    const place = document.querySelector("[data-chosen-count]");
    const n = boxes().filter((box) => box.checked).length;
    if (place) place.textContent = n ? String(n) : "";
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("input[form=cause-form]")) showCount();
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
      return;
    }
    if (!bulk()) return;
    if (bulk().open && press(bulk(), event.key)) event.preventDefault();
    else if (event.key === "x") {
      const box = document.querySelector(".audit-runs tr.current input[name=item]");
      if (box) box.click();
    } else if (event.key === "t") bulk().open = !bulk().open;
  });
  showCount(); // boxes may be ticked before this script is here
})();
