// What every page has: menus, dialogs, theme, toasts, keys of several pages, the command palette. No page depends on it to be read.
(() => {
  "use strict";
  const text = document.body.dataset;

  const isTyping = (target) =>
    target instanceof Element &&
    (target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]") !== null);

  function toast(words, level = "error") {
    const shown = [...document.querySelectorAll("#toasts > li > span")];
    if (shown.some((one) => one.textContent === words)) return; // what asks every second says it once
    const item = document.createElement("li");
    item.className = `message ${level}`;
    const label = document.createElement("span");
    label.textContent = words;
    const close = document.createElement("button");
    close.className = "button quiet small";
    close.dataset.dismisses = "";
    close.textContent = text.textClose;
    item.append(label, close);
    document.getElementById("toasts").append(item);
    leaveSoon(item);
  }

  // Good news goes by itself; bad news stays until it is closed.
  function leaveSoon(item) {
    if (item.matches(".success, .info")) setTimeout(() => item.remove(), 6000);
  }

  function chooseTheme(theme) {
    document.documentElement.dataset.theme = theme;
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax`;
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
  }

  function toggle(button) {
    const target = document.getElementById(button.dataset.toggles);
    const open = target.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  }

  document.addEventListener("click", (event) => {
    const on = (selector) => event.target.closest(selector);
    const menu = on("details[data-menu]");
    for (const open of document.querySelectorAll("details[data-menu][open]")) {
      if (open !== menu) open.open = false;
    }
    if (on("[data-theme-choice]")) chooseTheme(on("[data-theme-choice]").dataset.themeChoice);
    if (menu && on(".sheet button.item[hx-get]")) {
      menu.open = false;
      menu.querySelector("summary").focus(); // where the dialog that comes gives the keyboard back
    }
    if (on("[data-toggles]")) toggle(on("[data-toggles]"));
    if (on("[data-dismisses]")) on("[data-dismisses]").closest("li, .message").remove();
    if (on("[data-opens-dialog]")) {
      if (menu) menu.open = false;
      document.getElementById(on("[data-opens-dialog]").dataset.opensDialog).showModal();
    }
    if (on("[data-closes-dialog]")) on("dialog").close();
    if (event.target instanceof HTMLDialogElement) event.target.close(); // the backdrop
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const menu = document.querySelector("details[data-menu][open]");
      if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      } else if (isTyping(event.target) || event.target.matches?.("input")) event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      const fields = [...document.querySelectorAll("[data-search], #search")];
      const search = fields.findLast((field) => field.offsetParent && field.matches("[data-search]")) ?? fields.find((field) => field.offsetParent);
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "?") {
      event.preventDefault();
      document.getElementById("keys").showModal();
    } else if (event.key === "v") compareRuns();
  });

  // Two runs side by side: the pair that stands fast, such as a rerun and its original, else one to choose.
  function compareRuns() {
    const ways = [...document.querySelectorAll("[data-compares]:not([hidden])")];
    const near = ways.filter((way) => !way.closest("tr") || way.closest("tr.current"));
    (near.find((way) => way.matches("a")) ?? near[0])?.click();
  }

  // On phones one pane is shown at a time.
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[data-pane]");
    if (!tab) return;
    tab.closest("[data-panes]").dataset.shown = tab.dataset.pane;
    for (const other of tab.parentElement.querySelectorAll("[data-pane]")) {
      other.setAttribute("aria-selected", String(other === tab));
    }
  });

  // Tabs whose panels are all on the page: arrows move, only one panel is shown.
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[data-tabs] > [role=tab]");
    if (tab) selectTab(tab);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target instanceof Element && event.target.closest("[data-tabs] > [role=tab]");
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!tab || !by) return;
    const all = [...tab.parentElement.querySelectorAll("[role=tab]")];
    const next = all[(all.indexOf(tab) + by + all.length) % all.length];
    event.preventDefault();
    event.stopPropagation();
    next.focus();
    selectTab(next);
  });

  function selectTab(tab) {
    for (const other of tab.parentElement.querySelectorAll("[role=tab]")) {
      const on = other === tab;
      other.setAttribute("aria-selected", String(on));
      other.tabIndex = on ? 0 : -1;
      const panel = document.getElementById(other.getAttribute("aria-controls"));
      if (panel) panel.hidden = !on;
    }
    tab.dispatchEvent(new CustomEvent("tab-selected", { bubbles: true, detail: tab.getAttribute("aria-controls") }));
  }

  // Logging in again, in another tab, changes the token. Every form that is sent, by whatever means,
  // passes here and takes it from the cookie.
  const TOKEN = "csrfmiddlewaretoken";
  const tokenNow = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1];
  document.addEventListener("formdata", ({ formData }) => {
    if (formData.has(TOKEN)) formData.set(TOKEN, tokenNow() ?? formData.get(TOKEN));
  });
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    detail.headers["X-CSRFToken"] = tokenNow() ?? detail.headers["X-CSRFToken"];
  });

  // What asks again by itself tells in its own place that it got no answer.
  const isQuiet = (event) => event.detail.elt?.closest?.("[data-quiet]") != null;
  document.addEventListener("htmx:responseError", (event) => {
    if (isQuiet(event)) return;
    const why = { 401: text.textLoggedOut, 403: text.textForbidden, 404: text.textGone };
    toast(why[event.detail.xhr.status] ?? text.textFailed);
  });
  document.addEventListener("htmx:sendError", (event) => isQuiet(event) || toast(text.textOffline));
  document.addEventListener("toast", (event) => toast(event.detail.text, event.detail.level));
  // A fragment may ask for a dialog to be shown once it is there.
  document.addEventListener("htmx:afterSwap", (event) => {
    const dialog = event.detail.target.closest?.("dialog[data-opens-on-swap]");
    if (dialog && !dialog.open) dialog.showModal();
  });

  // A form that comes back with what is wrong: there it goes on.
  document.addEventListener("htmx:afterSettle", (event) => {
    const { xhr, requestConfig } = event.detail;
    if (xhr?.status !== 422 || !requestConfig.elt.matches("form")) return;
    const form = document.getElementById(requestConfig.elt.id) ?? event.detail.target;
    const wrong = form?.querySelector("[aria-invalid=true], .message.error");
    if (!wrong) return;
    if (wrong.matches(".message")) wrong.tabIndex = -1;
    wrong.focus();
  });

  // A button that is disabled while it asks loses the keyboard: what stands in its place has it again.
  document.addEventListener("htmx:afterSettle", (event) => {
    const asked = event.detail.requestConfig?.elt;
    if (!asked?.id || document.activeElement !== document.body) return;
    document.getElementById(asked.id)?.focus({ preventScroll: true });
  });

  // A closed drawer is emptied, so that it stops asking for news.
  document.addEventListener("close", (event) => {
    if (event.target.matches("dialog.drawer")) event.target.replaceChildren();
  }, true);

  new MutationObserver((changes) => {
    for (const change of changes) change.addedNodes.forEach((node) => node instanceof Element && leaveSoon(node));
  }).observe(document.getElementById("toasts"), { childList: true });
  document.querySelectorAll("#toasts > li").forEach(leaveSoon);

  // Buttons that copy the value of a field: data-copies names it, data-copied is said afterwards.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copies);
    field.focus();
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Not over plain http: what is selected can be copied by the keyboard.
      return;
    }
    button.textContent = button.dataset.copied;
  });

  // The command palette: Ctrl or Cmd with K opens it, arrows choose, Enter goes there.
  function listenToPalette(dialog) {
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
  }
  const palette = document.getElementById("palette");
  if (palette) listenToPalette(palette);
})();
