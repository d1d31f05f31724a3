// The small picture of a step under the pointer, or of the scrubber's own step while it has the focus.
import { blobUrl } from "./words.js";

const GAP = 6;

export class Preview {
  // `frame` holds [data-preview-image] and [data-preview-words] and is placed in the window.
  constructor(frame, data) {
    this.frame = frame;
    this.data = data;
    this.image = frame.querySelector("[data-preview-image]");
    this.words = frame.querySelector("[data-preview-words]");
  }

  // Above the place [left, top] in the window, or right of it if `isBeside`.
  show(step, words, [left, top], isBeside = false) {
    const source = blobUrl(this.data, step.thumb || step.image);
    this.image.hidden = !source;
    if (source && this.image.getAttribute("src") !== source) this.image.src = source;
    this.words.textContent = words;
    this.frame.hidden = false;
    const { width, height } = this.frame.getBoundingClientRect();
    const x = isBeside ? left + GAP : left - width / 2;
    const y = isBeside ? top - height / 2 : top - height - GAP;
    this.frame.style.left = `${within(x, document.documentElement.clientWidth - width)}px`;
    this.frame.style.top = `${within(y, document.documentElement.clientHeight - height)}px`;
  }

  hide() {
    this.frame.hidden = true;
  }
}

function within(value, most) {
  return Math.min(Math.max(value, GAP), Math.max(most - GAP, GAP));
}
