// Rows of a table that lead somewhere: one by key, and a click anywhere in a row opens it. On a list's
// page the current one can be looked at beside the others.
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

  // A list's page: the preview beside the current row, and menus that survive a swap.
  function listenToList(preview) {
    const root = () => document.querySelector("[data-list]");
    let previewed = null;
    let openMenu = null;
    let focused = null;

    function togglePreview() {
      preview.hidden = !preview.hidden;
      previewed = null;
      showPreview();
    }

    // What the current row is, as long as the pane is open.
    function showPreview() {
      const address = root()?.querySelector("tr.current")?.dataset.preview;
      if (preview.hidden || !address || address === previewed) return;
      previewed = address;
      htmx.ajax("GET", address, { source: preview, target: preview, swap: "innerHTML" });
    }

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, summary, .sheet")) return;
      if (event.key === "Escape") preview.hidden = true;
      // A box or button that has the focus is pressed by the space bar.
      if (event.key !== " " || event.target.matches("input, button, a.button")) return;
      event.preventDefault();
      togglePreview();
    });

    document.addEventListener("focusin", (event) => event.target.closest("tr[data-preview]") && showPreview());
    preview.addEventListener("click", (event) => {
      if (event.target.closest("[data-closes-preview]")) preview.hidden = true;
    });

    document.addEventListener("htmx:beforeSwap", (event) => {
      if (event.detail.target !== root()) return;
      openMenu = root().querySelector("details[open]")?.id;
      focused = openMenu && document.activeElement?.id;
    });
    document.addEventListener("htmx:afterSettle", (event) => {
      const menu = openMenu && document.getElementById(openMenu);
      openMenu = null;
      if (menu) menu.open = true; // it asks for its choices then
      else if (focused && event.target.closest(".sheet")) {
        document.getElementById(focused)?.focus();
        focused = null;
      }
    });
  }
  const preview = document.getElementById("list-preview");
  if (preview) listenToList(preview);
})();
