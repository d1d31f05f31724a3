// The picture of a step with its marks, and in its place, when asked for, tree or details.
import { blobUrl, drawn, phrase } from "./words.js";
import { Tree } from "./tree.js";

const AHEAD = [1, 2, -1, 3];
const LARGEST = 2; // pictures smaller than the stage grow up to twice their size
const TALL = 1.35; // pictures so much taller than the stage fill its width and scroll
const DETAILS_MS = 150;

export class Stage {
  constructor(root, data) {
    const part = (name) => root.querySelector(`[data-${name}]`);
    this.data = data;
    this.stage = part("stage");
    this.shot = part("shot");
    this.image = part("image");
    this.marks = part("marks");
    this.note = part("note");
    this.details = part("details");
    this.position = part("position");
    this.texts = part("texts");
    this.zoomButton = part("zoom");
    this.tree = new Tree(part("tree"), data);
    this.kept = new Map(); // pictures fetched ahead, held so that the browser keeps them decoded
    this.zoomed = false;
    this.size = null;
    this.turn = 0;
    new ResizeObserver(() => this.fit()).observe(this.stage);
    this.zoomButton.addEventListener("click", () => this.toggleZoom());
    this.shot.addEventListener("click", (event) => this.toggleZoom(event));
  }

  async show(index, view) {
    const turn = (this.turn += 1);
    const step = this.data.steps[index];
    const { words } = this.data;
    this.position.textContent = phrase(words.step_of, { i: step.i, n: this.data.steps.at(-1).i });
    this.tree.root.hidden = view !== "tree";
    this.details.hidden = view !== "details";
    if (view !== "details") this.details.replaceChildren();
    if (view !== "tree") this.tree.clear();
    if (view === "tree" || view === "details") {
      this.shot.hidden = this.note.hidden = true;
      if (view === "tree") await this.tree.show(step);
      else this.askForDetails(index, turn);
      return;
    }
    const sha256 = { before: step.image, after: step.after, marked: step.marked ?? step.image }[view];
    const source = blobUrl(this.data, sha256);
    if (!source) return this.say(words.no_picture);
    const picture = this.keep(source);
    try {
      await picture.decode();
    } catch {
      if (turn === this.turn) this.say(words.failed_load);
      this.kept.delete(source);
      return;
    }
    if (turn !== this.turn) return;
    this.note.hidden = true;
    this.shot.hidden = false;
    this.image.src = source;
    this.image.alt = phrase(words[`${view}_alt`], { i: step.i });
    this.size = step.size && view !== "after" ? step.size : spaceOf(picture, step.size);
    this.draw(view === "after" ? {} : step);
    this.fit();
    this.fetchAhead(index, view);
  }

  showNothing() {
    this.texts.hidden = true;
    this.say(this.data.words.no_steps);
    return Promise.resolve();
  }

  say(words) {
    this.shot.hidden = true;
    this.note.hidden = false;
    this.note.textContent = words;
  }

  keep(source) {
    let picture = this.kept.get(source);
    if (!picture) {
      picture = new Image();
      picture.src = source;
    }
    this.kept.delete(source);
    this.kept.set(source, picture); // the newest last
    if (this.kept.size > 24) this.kept.delete(this.kept.keys().next().value);
    return picture;
  }

  fetchAhead(index, view) {
    for (const by of AHEAD) {
      const step = this.data.steps[index + by];
      const sha256 = step && (view === "after" ? step.after : step.image);
      if (sha256) this.keep(blobUrl(this.data, sha256)).decode().catch(() => {});
    }
  }

  // Outline of the acted-on element and the click point, in the picture's CSS pixels.
  draw(step) {
    const [width, height] = this.size;
    this.marks.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.marks.replaceChildren();
    if (step.box) {
      const [x, y, w, h] = step.box;
      for (const className of ["halo", "core"]) {
        this.marks.append(drawn("rect", { class: className, x, y, width: Math.max(w, 1), height: Math.max(h, 1), rx: 2 }));
      }
    }
    if (step.point) {
      const [x, y] = step.point;
      for (const className of ["dot-halo", "dot", "dot-heart"]) {
        this.marks.append(drawn("path", { class: className, d: `M${x} ${y}h0.001` }));
      }
    }
  }

  fit() {
    if (!this.size || this.shot.hidden) return;
    const [width, height] = this.size;
    const style = getComputedStyle(this.stage);
    const padding = 2 * parseFloat(style.paddingLeft);
    const room = { width: this.stage.clientWidth - padding, height: this.stage.clientHeight - padding };
    const isTall = height / width > TALL * (room.height / room.width) && height > 1.5 * width;
    const scale = this.zoomed
      ? Math.max(1, this.image.naturalWidth / width)
      : Math.min(LARGEST, room.width / width, isTall ? Infinity : room.height / height);
    this.shot.style.width = `${Math.round(width * scale)}px`;
    this.shot.style.height = `${Math.round(height * scale)}px`;
    this.shot.classList.toggle("zoomed", this.zoomed);
    this.stage.classList.toggle("scrolls", this.zoomed || isTall);
    if (this.zoomed || isTall) this.centreMark(scale);
  }

  centreMark(scale) {
    const mark = this.marks.lastElementChild;
    if (!mark) return;
    const box = mark.getBBox();
    this.stage.scrollTo({
      left: (box.x + box.width / 2) * scale - this.stage.clientWidth / 2,
      top: (box.y + box.height / 2) * scale - this.stage.clientHeight / 2,
    });
  }

  toggleZoom(event) {
    if (this.shot.hidden) return;
    const at = event && { x: event.offsetX / this.shot.clientWidth, y: event.offsetY / this.shot.clientHeight };
    this.zoomed = !this.zoomed;
    this.zoomButton.setAttribute("aria-pressed", String(this.zoomed));
    this.fit();
    if (at && this.zoomed) {
      this.stage.scrollTo({
        left: at.x * this.shot.clientWidth - this.stage.clientWidth / 2,
        top: at.y * this.shot.clientHeight - this.stage.clientHeight / 2,
      });
    }
  }

  // Waits a moment, so that running through the steps asks for none on the way.
  askForDetails(index, turn) {
    setTimeout(() => {
      if (turn !== this.turn) return;
      const url = this.data.step_url.replace(/0\/$/, `${this.data.steps[index].i}/`);
      window.htmx.ajax("GET", url, { target: this.details, swap: "innerHTML" });
    }, DETAILS_MS);
  }
}

// Size of another picture in the CSS pixels of the step's own.
function spaceOf(picture, size) {
  const ratio = size ? size[0] / picture.naturalWidth : 1;
  return [picture.naturalWidth * ratio, picture.naturalHeight * ratio];
}
