// The runs table: rows by key, selection with its bar of actions, menus that survive a swap.
(() => {
  "use strict";
  const root = () => document.getElementById("run-table");
  const rows = () => [...root().querySelectorAll("tr[data-run]")];
  const boxes = () => [...root().querySelectorAll('input[name="run"]')];
  const current = () => root().querySelector("tr.current");
  let openMenu = null;
  let focused = null;

  function moveTo(row) {
    current()?.classList.remove("current");
    row.classList.add("current");
    row.querySelector(".row-link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    moveTo(all[Math.min(Math.max(at + by, 0), all.length - 1)]);
  }

  function showSelection() {
    const chosen = boxes().filter((box) => box.checked);
    for (const box of boxes()) box.closest("tr").setAttribute("aria-selected", String(box.checked));
    const bar = root().querySelector("[data-bulk]");
    if (bar) {
      bar.hidden = chosen.length === 0;
      bar.querySelector("[data-selected-count]").textContent = String(chosen.length);
      const compare = bar.querySelector("[data-compares]");
      compare.hidden = chosen.length !== 2;
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
      boxes().forEach((box) => (box.checked = false));
      showSelection();
    }
    const row = event.target.closest("tr[data-run]");
    if (row && !event.target.closest("a, input, button, label") && !getSelection().toString()) {
      row.querySelector(".row-link").click();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, summary, .sheet")) return;
    const act = {
      j: () => move(1),
      k: () => move(-1),
      o: () => current()?.querySelector(".row-link").click(),
      x: () => {
        const box = current()?.querySelector('input[name="run"]');
        select(box, !box?.checked);
      },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-run]");
    if (row && row !== current()) {
      current()?.classList.remove("current");
      row.classList.add("current");
    }
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target !== root()) return;
    openMenu = root().querySelector("details[open]")?.id;
    focused = document.activeElement?.id;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const menu = openMenu && document.getElementById(openMenu);
    if (menu) {
      menu.open = true;
      document.getElementById(focused)?.focus();
    }
    openMenu = null;
  });
})();
