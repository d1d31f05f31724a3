// The runs of a cell: rows by key, and a click anywhere in a row opens it.
(() => {
  "use strict";
  const rows = () => [...document.querySelectorAll(".audit-runs tr[data-run]")];
  const current = () => document.querySelector(".audit-runs tr.current");
  const open = (row) => row?.querySelector(".row-link").click();

  function show(row) {
    current()?.classList.remove("current");
    row.classList.add("current");
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const row = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    show(row);
    row.querySelector(".row-link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("click", (event) => {
    const row = event.target.closest(".audit-runs tr[data-run]");
    if (row && !event.target.closest("a, button, .choose") && !getSelection().toString()) open(row);
  });

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest(".audit-runs tr[data-run]");
    if (row) show(row);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog, summary, .sheet")) return;
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
