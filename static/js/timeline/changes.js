// Where two pictures of a page differ, as boxes [x, y, width, height] in pixels of the second.
import { joined } from "./crop.js";

const WIDEST = 480; // compared at most so wide: a difference that is lost by that is not seen either
const CELL = 6; // what is compared, in pixels of that
const TOLERANCE = 28; // of 255, in any colour: screenshots of the same page are not quite the same
const REACH = 2; // cells that are so near belong to one box
const MOST = 24; // more boxes than that are one

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
      if (Math.max(data[at], data[at + 1], data[at + 2]) > TOLERANCE) {
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
