// What an agent was told of a screen: the lines, each with its box on the picture.
import { Fragment } from "./fragments.js";

export class Seen extends Fragment {
  constructor(root, data) {
    super(root, data, "screen/");
    for (const name of ["mouseover", "focusin"]) {
      root.addEventListener(name, (event) => this.point(event.target.closest("[data-piece]")));
    }
    root.addEventListener("mouseleave", () => this.point(document.activeElement?.closest("[data-piece]")));
  }

  // Marks the line and the box that belong together, and no others.
  point(piece) {
    for (const each of this.target.querySelectorAll("[data-piece]")) {
      each.classList.toggle("pointed", Boolean(piece) && each.dataset.piece === piece.dataset.piece);
    }
  }
}
