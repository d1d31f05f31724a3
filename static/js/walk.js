// From run to run of a cell: n is the next one, p the one before. Comes with the pane that
// holds the links, and listens once however often the pane is fetched.
(() => {
  "use strict";
  if (document.documentElement.dataset.walks) return;
  document.documentElement.dataset.walks = "on";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !"np".includes(event.key)) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog")) return;
    const link = document.querySelector(`[data-walk="${event.key}"]`);
    if (!link) return;
    event.preventDefault();
    link.click();
  });
})();
