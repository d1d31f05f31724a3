// The part of pictures that holds anything: margins in one colour are left away, and so are those of a
// small page within them. Pictures of one size share a part, which only grows, so that nothing jumps
// from step to step and nothing is ever cut.
const WIDEST = 480; // looked at most so wide
const TOLERANCE = 12; // of 255, in any colour
const AROUND = [2, 8]; // pixels of margin that stay: around the page, and on it
const BLURRED = 2; // pixels at the edge of a page that are of neither colour

export class Crop {
  constructor() {
    this.parts = new Map(); // by size
    this.known = new WeakSet();
  }

  // Takes a decoded picture in.
  add(picture) {
    if (this.known.has(picture) || !picture.naturalWidth) return;
    this.known.add(picture);
    const size = sizeOf(picture);
    const part = partOf(picture);
    const before = this.parts.get(size);
    this.parts.set(size, before ? joined(before, part) : part);
  }

  // [left, top, right, bottom] in pixels of the picture.
  of(picture) {
    return this.parts.get(sizeOf(picture)) ?? [0, 0, picture.naturalWidth, picture.naturalHeight];
  }
}

export function joined(one, other) {
  return [
    Math.min(one[0], other[0]), Math.min(one[1], other[1]),
    Math.max(one[2], other[2]), Math.max(one[3], other[3]),
  ];
}

function sizeOf(picture) {
  return `${picture.naturalWidth} ${picture.naturalHeight}`;
}

function partOf(picture) {
  const whole = [0, 0, picture.naturalWidth, picture.naturalHeight];
  const scale = Math.min(1, WIDEST / picture.naturalWidth);
  const width = Math.max(1, Math.floor(picture.naturalWidth * scale));
  const height = Math.max(1, Math.floor(picture.naturalHeight * scale));
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(picture, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const outer = trimmed(data, width, [0, 0, width, height]);
  if (!outer) return whole;
  const inside = outer.map((side, at) => side + (at < 2 ? BLURRED : -BLURRED));
  const inner = (inside[2] > inside[0] && inside[3] > inside[1] && trimmed(data, width, inside)) || inside;
  const [left, top, right, bottom] = outer.map((side, at) => {
    const [found, around] = inner[at] === inside[at] ? [side, AROUND[0]] : [inner[at], AROUND[1]];
    return found / scale + (at < 2 ? -around : around);
  });
  return [Math.max(left, 0), Math.max(top, 0), Math.min(right, whole[2]), Math.min(bottom, whole[3])];
}

// The box without rows and columns that are all of the colour in its lower right corner; null where
// nothing would be left.
function trimmed(data, width, [left, top, right, bottom]) {
  const corner = 4 * ((bottom - 1) * width + right - 1);
  const isEmpty = (x, y) => {
    const at = 4 * (y * width + x);
    return [0, 1, 2].every((colour) => Math.abs(data[at + colour] - data[corner + colour]) <= TOLERANCE);
  };
  const isEmptyRow = (y) => {
    for (let x = left; x < right; x += 1) if (!isEmpty(x, y)) return false;
    return true;
  };
  const isEmptyColumn = (x) => {
    for (let y = top; y < bottom; y += 1) if (!isEmpty(x, y)) return false;
    return true;
  };
  while (bottom > top && isEmptyRow(bottom - 1)) bottom -= 1;
  if (bottom === top) return null;
  while (isEmptyRow(top)) top += 1;
  while (isEmptyColumn(right - 1)) right -= 1;
  while (isEmptyColumn(left)) left += 1;
  return [left, top, right, bottom];
}
