// How many runs each choice of the menus finds: asked once one is opened, and written beside the choices.
document.addEventListener("toggle", async (event) => {
  const menus = event.target.open && event.target.closest("[data-facets]");
  if (!menus || menus.hasAttribute("aria-busy")) return;
  menus.setAttribute("aria-busy", "true");
  const answer = await fetch(menus.dataset.facets).catch(() => null);
  const counts = answer?.ok ? await answer.json() : {};
  for (const item of menus.querySelectorAll("a.item")) {
    const count = counts[item.getAttribute("href").slice(1)];
    if (!count) continue;
    const shown = document.createElement("span");
    shown.className = "muted num push";
    shown.textContent = count;
    item.append(shown);
  }
  menus.setAttribute("aria-busy", "false");
}, true);
