// What the pixels of pictures tell: which part holds anything, and where two differ.
const WIDEST = 480; // looked at most so wide: a difference that is lost by that is not seen either
const MARGIN_TOLERANCE = 12; // of 255, in any colour
const AROUND = [2, 8]; // pixels of margin that stay: around the page, and on it
const BLURRED = 2; // pixels at the edge of a page that are of neither colour
const CELL = 6; // what is compared, in pixels of a picture so wide
const CHANGE_TOLERANCE = 28; // of 255, in any colour: screenshots of the same page are not quite the same
const REACH = 2; // cells that are so near belong to one box
const MOST = 24; // more boxes than that are one

// The part of pictures that holds anything: margins in one colour are left away, and so are those of a
// small page within them. Pictures of one size share a part, which only grows, so that nothing jumps
// from step to step and nothing is ever cut.
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
    return [0, 1, 2].every((colour) => Math.abs(data[at + colour] - data[corner + colour]) <= MARGIN_TOLERANCE);
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

// Where two pictures of a page differ, as boxes [x, y, width, height] in pixels of the second.
export function changedBoxes(before, after) {
  const scale = Math.min(1, WIDEST / Math.max(before.naturalWidth, after.naturalWidth));
  const width = Math.ceil(Math.max(before.naturalWidth, after.naturalWidth) * scale);
  const height = Math.ceil(Math.max(before.naturalHeight, after.naturalHeight) * scale);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const draw = (picture) => context.drawImage(picture, 0, 0, picture.naturalWidth * scale, picture.naturalHeight * scale);
  draw(before);
  context.globalCompositeOperation = "difference";
  draw(after);
  const { data } = context.getImageData(0, 0, width, height);
  const columns = Math.ceil(width / CELL);
  const rows = Math.ceil(height / CELL);
  const differs = new Uint8Array(columns * rows);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 4 * (y * width + x);
      if (Math.max(data[at], data[at + 1], data[at + 2]) > CHANGE_TOLERANCE) {
        differs[Math.floor(y / CELL) * columns + Math.floor(x / CELL)] = 1;
      }
    }
  }
  const pixels = CELL / scale;
  return boxesOf(differs, columns, rows).map(([left, top, right, bottom]) => [
    left * pixels,
    top * pixels,
    Math.min((right + 1) * pixels, after.naturalWidth) - left * pixels,
    Math.min((bottom + 1) * pixels, after.naturalHeight) - top * pixels,
  ]);
}

// Groups of cells that lie near one another, as [left, top, right, bottom] in cells.
function boxesOf(differs, columns, rows) {
  const boxes = [];
  for (let start = 0; start < differs.length; start += 1) {
    if (!differs[start]) continue;
    const box = [columns, rows, 0, 0];
    const open = [start];
    differs[start] = 0;
    while (open.length) {
      const cell = open.pop();
      const x = cell % columns;
      const y = Math.floor(cell / columns);
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
      for (let near = Math.max(y - REACH, 0); near <= Math.min(y + REACH, rows - 1); near += 1) {
        for (let beside = Math.max(x - REACH, 0); beside <= Math.min(x + REACH, columns - 1); beside += 1) {
          const other = near * columns + beside;
          if (differs[other]) {
            differs[other] = 0;
            open.push(other);
          }
        }
      }
    }
    boxes.push(box);
  }
  return boxes.length <= MOST ? boxes : [boxes.reduce(joined)];
}
