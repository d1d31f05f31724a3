// The command palette: Ctrl or Cmd with K opens it, arrows choose, Enter goes there.
(() => {
  "use strict";
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = dialog.querySelector("input");
  const options = () => [...dialog.querySelectorAll("[role=option]")];
  const chosen = () => dialog.querySelector("[role=option][aria-selected=true]");

  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  }

  function open() {
    if (document.querySelector("dialog[open]")) return;
    dialog.showModal();
    field.focus();
    field.select();
    field.dispatchEvent(new CustomEvent("palette-opened", { bubbles: true }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-opens-palette]");
    if (!button) return;
    const menu = button.closest("details[data-menu]");
    if (menu) menu.open = false;
    open();
  });

  field.addEventListener("keydown", (event) => {
    const all = options();
    const at = all.indexOf(chosen());
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + (at < 0), Home: 0, End: all.length - 1 }[event.key];
    if (next !== undefined && all.length && !(event.shiftKey && /Home|End/.test(event.key))) {
      event.preventDefault();
      choose(all[(next + all.length) % all.length]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      // What is still being looked for is not what was asked for.
      if (dialog.dataset.typed === field.value) chosen()?.click();
      else dialog.dataset.goes = "";
    }
  });

  dialog.addEventListener("htmx:afterSwap", () => {
    dialog.dataset.typed = field.value;
    choose(options()[0]);
    if ("goes" in dialog.dataset) chosen()?.click();
    delete dialog.dataset.goes;
  });
})();
