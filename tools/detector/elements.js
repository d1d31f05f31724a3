// What a person would call the elements of the page that can be seen now: [{kind, box}], the
// boxes [x1, y1, x2, y2] in CSS pixels of the viewport.
() => {
  const SMALLEST = 5;
  const ICON_SIDE = 30;
  const INPUTS = {
    checkbox: ["checkbox", "checked checkbox"],
    radio: ["radio button", "selected radio button"],
    range: ["slider", "slider"],
    color: ["colour picker", "colour picker"],
  };
  const BY_SELECTOR = [
    [".ui-datepicker-prev, .ui-datepicker-next", "icon"],
    [".ui-datepicker-calendar td a, .ui-datepicker-calendar td span", "calendar day"],
    [".ui-dialog-titlebar-close", "close button"],
    [".ui-dialog", "dialog"],
    [".ui-tabs-nav li", "tab"],
    [".ui-accordion-header", "section header"],
    [".ui-autocomplete li", "option"],
    [".ui-menu-item", "menu item"],
    [".ui-slider-handle", "slider handle"],
    [".ui-slider", "slider"],
    [".ui-spinner-button", "spinner button"],
    [".ui-resizable-handle.ui-icon", "icon"],
    [".folder, .file, .email-thread, .ui-sortable li, .ui-sortable-handle", "list item"],
    [".hitarea", "icon"],
  ];

  const viewport = { x1: 0, y1: 0, x2: innerWidth, y2: innerHeight };

  const cut = (a, b) => ({
    x1: Math.max(a.x1, b.x1),
    y1: Math.max(a.y1, b.y1),
    x2: Math.min(a.x2, b.x2),
    y2: Math.min(a.y2, b.y2),
  });
  const sides = (r) => ({ x1: r.left, y1: r.top, x2: r.right, y2: r.bottom });
  const isThere = (r) => r.x2 - r.x1 >= SMALLEST && r.y2 - r.y1 >= SMALLEST;

  // What the scrolling and clipping elements around it leave of a rectangle.
  const clipped = (element, rectangle) => {
    let left = cut(rectangle, viewport);
    const position = getComputedStyle(element).position;
    if (position === "fixed") return left;
    for (let around = element.parentElement; around; around = around.parentElement) {
      const style = getComputedStyle(around);
      const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
      const holds = position !== "absolute" || style.position !== "static";
      if (clips && holds && around !== document.body && around !== document.documentElement) {
        const outer = around.getBoundingClientRect();
        left = cut(left, {
          x1: outer.left + around.clientLeft,
          y1: outer.top + around.clientTop,
          x2: outer.left + around.clientLeft + around.clientWidth,
          y2: outer.top + around.clientTop + around.clientHeight,
        });
      }
    }
    return left;
  };

  // Whether most of it is on top: of nine points, more than half show it or what it holds.
  const isOnTop = (element, box) => {
    let shown = 0;
    for (const across of [0.15, 0.5, 0.85]) {
      for (const down of [0.15, 0.5, 0.85]) {
        const x = box.x1 + (box.x2 - box.x1) * across;
        const y = box.y1 + (box.y2 - box.y1) * down;
        const top = document.elementFromPoint(x, y);
        if (top && (element.contains(top) || top.contains(element))) shown += 1;
      }
    }
    return shown >= 5;
  };

  const isSeen = (element) => {
    let opacity = 1;
    for (let around = element; around; around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.display === "none") return false;
      opacity *= Number(style.opacity);
    }
    return getComputedStyle(element).visibility === "visible" && opacity > 0.1;
  };

  const isClear = (colour) => colour === "transparent" || /,\s*0\)$/.test(colour);
  const ownText = (element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());

  const shapeKind = (element) => {
    const name = element.tagName.toLowerCase();
    if (name === "circle" || name === "ellipse") return "circle";
    if (name === "rect") return "rectangle";
    if (name === "polygon") {
      return element.points.numberOfItems === 3 ? "triangle" : "shape";
    }
    // Letters and digits among figures are figures too; a chart's are its labels.
    if (name === "text") return document.querySelector("#area_svg") ? "letter" : null;
    if (name === "path") return getComputedStyle(element).fill === "none" ? null : "shape";
    return null;
  };

  const controlKind = (element) => {
    const name = element.tagName;
    if (name === "INPUT") {
      if (element.type === "hidden") return null;
      if (["button", "submit", "reset"].includes(element.type)) return "button";
      if (element.classList.contains("jscolor")) return "text box";
      return INPUTS[element.type] ? INPUTS[element.type][Number(element.checked)] : "text box";
    }
    if (name === "TEXTAREA") return "text area";
    if (name === "BUTTON") return "button";
    if (name === "SELECT") return element.size > 1 || element.multiple ? "list box" : "drop-down";
    if (name === "OPTION") return element.parentElement.size > 1 || element.parentElement.multiple
      ? "option" : null;
    return null;
  };

  const pictureKind = (element, style, box) => {
    const isPicture = element.tagName === "IMG" || element.tagName === "CANVAS" ||
      /^url/.test(style.content) ||
      (/url/.test(style.backgroundImage) && !ownText(element) && !element.children.length);
    if (!isPicture) return null;
    const side = Math.max(box.x2 - box.x1, box.y2 - box.y1);
    return side <= ICON_SIDE ? "icon" : "image";
  };

  // Elements that are made of plain parts: what reacts to clicks says so by its cursor.
  const plainKind = (element, style, box) => {
    const width = box.x2 - box.x1;
    const height = box.y2 - box.y1;
    const isFilled = !isClear(style.backgroundColor);
    const isFramed = parseFloat(style.borderTopWidth) > 0 && style.borderTopStyle !== "none";
    const isEmpty = !element.textContent.trim() && !element.children.length;
    const isCell = element.tagName === "TD" || element.parentElement.className === "ttt-row";
    const parent = getComputedStyle(element.parentElement);
    const isPointed = style.cursor === "pointer" && parent.cursor !== "pointer";
    if (element.tagName === "A" && element.textContent.trim()) return "link";
    if (isCell && (isPointed || isFramed) && element.id !== "area") return "grid cell";
    if (isEmpty && isFilled && height >= 8 && width >= 8 && width <= 120 && height <= 120 &&
        style.backgroundColor !== parent.backgroundColor) {
      const isRound = parseFloat(style.borderTopLeftRadius) >= Math.min(width, height) / 2;
      return isRound ? "circle" : "rectangle";
    }
    if (element.classList.contains("ui-draggable") && !element.querySelector("svg")) {
      return "rectangle";
    }
    if (isEmpty && isFramed && isPointed) return "grid cell";
    if (!isPointed || !element.textContent.trim()) return null;
    if (style.textDecorationLine === "underline") return "link";
    if (isFilled || isFramed) return width > 100 && !isFilled ? "list item" : "button";
    return style.display === "inline" || style.display === "inline-block" ? "link" : "list item";
  };

  const found = [];
  const add = (element, kind, rectangle) => {
    const box = clipped(element, rectangle);
    if (isThere(box) && isOnTop(element, box)) {
      found.push({ kind, box: [box.x1, box.y1, box.x2, box.y2] });
    }
  };

  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest("#query, #reward-display, #click-canvas, #sync-task-cover")) continue;
    if (["SCRIPT", "STYLE", "WRAP"].includes(element.tagName) || element.id === "wrap") continue;
    if (!isSeen(element)) continue;
    const style = getComputedStyle(element);
    const whole = sides(element.getBoundingClientRect());
    if (element instanceof SVGElement) {
      const kind = shapeKind(element);
      if (kind) add(element, kind, whole);
      continue;
    }
    const chosen = BY_SELECTOR.find(([selector]) => element.matches(selector));
    if (chosen) {
      add(element, chosen[1], whole);
      continue;
    }
    const within = element.parentElement.closest(
      "button, a, .ui-slider, .ui-spinner-button, .ui-tabs-nav, .ui-menu-item, .ui-accordion-header",
    );
    if (within) continue;
    const kind = controlKind(element) || pictureKind(element, style, whole) ||
      plainKind(element, style, whole);
    if (!kind) continue;
    const rectangles = kind === "link" ? [...element.getClientRects()].map(sides) : [whole];
    for (const rectangle of rectangles) add(element, kind, rectangle);
  }
  return found;
}
