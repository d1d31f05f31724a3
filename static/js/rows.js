// Rows of a table that lead somewhere: one by key, and a click anywhere in a row opens it.
(() => {
  "use strict";
  const ROW = "tr:is([data-run], [data-preview])";
  const rows = () => [...document.querySelectorAll(ROW)];
  const current = () => document.querySelector(`${ROW}.current`);
  const open = (row) => row?.querySelector(".row-link").click();

  function show(row) {
    current()?.classList.remove("current");
    row.classList.add("current");
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const row = all[Math.min(Math.max(all.indexOf(current()) + by, 0), all.length - 1)];
    show(row);
    row.querySelector(".row-link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("click", (event) => {
    const row = event.target.closest(ROW);
    if (row && !event.target.closest("a, button, input, label, summary, .choose") && !getSelection().toString()) open(row);
  });

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest(ROW);
    if (row) show(row);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, summary, .sheet")) return;
    const act = {
      j: () => move(1),
      n: () => move(1),
      k: () => move(-1),
      p: () => move(-1),
      o: () => open(current()),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
