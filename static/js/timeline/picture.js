// A step's picture with its marks: fetched ahead, cropped, fitted into its frame, zoomed.
import { Crop, changedBoxes, joined } from "./pixels.js";
import { blobUrl, drawn } from "./words.js";

const AHEAD = [1, 2, -1, 3];
const KEPT = 24;
const LARGEST = 3; // pictures smaller than the frame grow up to so many times their size
const MARGIN = 8; // around marks, in CSS pixels
const SMALL = 800; // pages narrower than that, in CSS pixels, are cropped (`SMALL` of timeline.py)
const GAINS = 1.2; // where they grow by so much,
const NARROW = 0.75; // or where that leaves so little of their width
const ANOTHER = 0.35; // of the picture, changed: another page
const SHOWS_WHOLE = "shows-whole-page";
const TALL = 1.35; // pictures so much taller than the frame fill its width and scroll

export class Picture {
  // `frame` scrolls and holds [data-shot], [data-image], [data-marks] and [data-note]; with
  // `wholeButton`, which is there while that makes sense, blank margins are left away; null for none.
  constructor(frame, data, wholeButton) {
    const part = (name) => frame.querySelector(`[data-${name}]`);
    this.data = data;
    this.frame = frame;
    this.shot = part("shot");
    this.image = part("image");
    this.marks = part("marks");
    this.note = part("note");
    this.kept = new Map(); // pictures fetched ahead, held so that the browser keeps them decoded
    this.wholeButton = wholeButton;
    this.crop = new Crop();
    this.zoomed = false;
    this.isWhole = localStorage.getItem(SHOWS_WHOLE) === "yes";
    this.size = null;
    this.turn = 0;
    new ResizeObserver(() => this.fit()).observe(frame);
  }

  // The picture of this hash, in whose pixels the step's box and point are drawn if `isMarked`.
  async show(sha256, step, alt, isMarked) {
    const turn = (this.turn += 1);
    const source = blobUrl(this.data, sha256);
    if (!source) return this.say(this.data.words.no_picture);
    const picture = this.keep(source);
    try {
      await picture.decode();
    } catch {
      if (turn === this.turn) this.say(this.data.words.failed_load);
      this.kept.delete(source);
      return;
    }
    if (turn !== this.turn) return;
    this.note.hidden = true;
    this.shot.hidden = false;
    this.image.src = source;
    this.image.alt = alt;
    this.size = step.size && isMarked ? step.size : spaceOf(picture, step.size);
    if (this.isSmall) this.crop.add(picture);
    this.draw(isMarked ? step : {});
    this.fit();
  }

  // Outlines what is not as in the picture of this hash; how many places, null if it cannot be told,
  // Infinity of another page: there outlines would say nothing.
  async outlineChanges(sha256) {
    const turn = this.turn;
    const earlier = sha256 && this.keep(blobUrl(this.data, sha256));
    const shown = this.kept.get(this.image.getAttribute("src"));
    if (!earlier || !shown || this.shot.hidden) return null;
    try {
      await earlier.decode();
    } catch {
      return null;
    }
    if (turn !== this.turn) return null;
    const ratio = this.size[0] / shown.naturalWidth;
    if (this.isSmall) {
      this.crop.add(earlier);
      this.fit();
    }
    const boxes = changedBoxes(earlier, shown);
    this.clearChanges();
    const area = boxes.reduce((sum, [, , width, height]) => sum + width * height, 0);
    if (area > ANOTHER * shown.naturalWidth * shown.naturalHeight) return Infinity;
    for (const box of boxes) {
      const [x, y, width, height] = box.map((value) => value * ratio);
      this.marks.prepend(drawn("rect", { class: "change", x, y, width, height, rx: 2 }));
    }
    return boxes.length;
  }

  clearChanges() {
    for (const change of this.marks.querySelectorAll(".change")) change.remove();
  }

  hide() {
    this.turn += 1;
    this.shot.hidden = this.note.hidden = true;
  }

  say(words) {
    this.turn += 1;
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
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return picture;
  }

  fetchAhead(index, hashOf) {
    for (const by of AHEAD) {
      const step = this.data.steps[index + by];
      const sha256 = step && hashOf(step);
      const picture = sha256 && this.keep(blobUrl(this.data, sha256));
      if (picture) picture.decode().then(() => this.isSmall && this.crop.add(picture)).catch(() => {});
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
    const whole = [0, 0, ...this.size];
    const style = getComputedStyle(this.frame);
    const padding = 2 * parseFloat(style.paddingLeft);
    const room = { width: this.frame.clientWidth - padding, height: this.frame.clientHeight - padding };
    const part = this.isSmall ? this.content() : whole;
    const gain = scaleOf(part, room).scale / scaleOf(whole, room).scale;
    const isCropped = gain >= GAINS || part[2] - part[0] <= NARROW * this.size[0];
    if (this.wholeButton) this.wholeButton.hidden = !isCropped;
    this.wholeButton?.setAttribute("aria-pressed", String(this.isWhole));
    const shown = isCropped && !this.isWhole && !this.zoomed ? part : whole;
    const { scale: fitted, isTall } = scaleOf(shown, room);
    const scale = this.zoomed ? Math.max(1, this.image.naturalWidth / this.size[0]) : fitted;
    const [left, top, right, bottom] = shown.map((value) => Math.round(value * scale));
    Object.assign(this.shot.style, { width: `${right - left}px`, height: `${bottom - top}px` });
    const [width, height] = this.size.map((value) => `${Math.round(value * scale)}px`);
    for (const one of [this.image, this.marks]) {
      Object.assign(one.style, { left: `${-left}px`, top: `${-top}px`, width, height });
    }
    this.shot.classList.remove("first");
    this.shot.classList.toggle("zoomed", this.zoomed);
    this.frame.classList.toggle("scrolls", this.zoomed || isTall);
    if (this.zoomed || isTall) this.centreMark(scale, shown);
  }

  get isSmall() {
    return this.wholeButton !== undefined && this.size[0] < SMALL;
  }

  // What holds anything, with the step's own marks, as [left, top, right, bottom] in its CSS pixels.
  content() {
    const picture = this.kept.get(this.image.getAttribute("src"));
    if (!picture) return [0, 0, ...this.size];
    const ratio = this.size[0] / picture.naturalWidth;
    const part = this.crop.of(picture).map((value) => value * ratio);
    const marks = [...this.marks.children].filter((mark) => !mark.matches(".change")).map((mark) => mark.getBBox());
    return marks.reduce((all, { x, y, width, height }) => joined(all, [
      Math.max(x - MARGIN, 0), Math.max(y - MARGIN, 0),
      Math.min(x + width + MARGIN, this.size[0]), Math.min(y + height + MARGIN, this.size[1]),
    ]), part);
  }

  toggleWhole() {
    if (this.wholeButton.hidden) return;
    this.isWhole = !this.isWhole;
    localStorage.setItem(SHOWS_WHOLE, this.isWhole ? "yes" : "no");
    this.fit();
  }

  centreMark(scale, [left, top]) {
    const mark = this.marks.lastElementChild;
    if (!mark) return;
    const box = mark.getBBox();
    this.frame.scrollTo({
      left: (box.x + box.width / 2 - left) * scale - this.frame.clientWidth / 2,
      top: (box.y + box.height / 2 - top) * scale - this.frame.clientHeight / 2,
    });
  }

  // Whether it is zoomed now. `at` is a click on the picture to zoom into.
  toggleZoom(at) {
    if (this.shot.hidden) return this.zoomed;
    const place = at && { x: at.offsetX / this.image.clientWidth, y: at.offsetY / this.image.clientHeight };
    this.zoomed = !this.zoomed;
    this.fit();
    if (place && this.zoomed) {
      this.frame.scrollTo({
        left: place.x * this.shot.clientWidth - this.frame.clientWidth / 2,
        top: place.y * this.shot.clientHeight - this.frame.clientHeight / 2,
      });
    }
    return this.zoomed;
  }
}

// How much a part grows or shrinks in the room; tall ones fill its width and scroll.
function scaleOf([left, top, right, bottom], room) {
  const [width, height] = [right - left, bottom - top];
  const isTall = height / width > TALL * (room.height / room.width) && height > 1.5 * width;
  return { scale: Math.min(LARGEST, room.width / width, isTall ? Infinity : room.height / height), isTall };
}

// Size of another picture in the CSS pixels of the step's own.
function spaceOf(picture, size) {
  const ratio = size ? size[0] / picture.naturalWidth : 1;
  return [picture.naturalWidth * ratio, picture.naturalHeight * ratio];
}
