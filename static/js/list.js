// A list's page: the preview beside the current row, and menus that survive a swap.
(() => {
  "use strict";
  const root = () => document.querySelector("[data-list]");
  const preview = document.getElementById("list-preview");
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
})();
