// Rows of milestones that are added, moved and removed without leaving the page. Without this the
// form has a place and a box to tick in every row, and adds rows through the server.
const form = document.querySelector("[data-milestones]");
const list = form.querySelector("[data-rows]");
const blank = form.querySelector("[data-blank]");
const total = form.querySelector('[name$="-TOTAL_FORMS"]');
const said = form.querySelector("[data-said]");

const rows = () => [...list.querySelectorAll("[data-row]")].filter((row) => !row.hidden);
const field = (row, name) => row.querySelector(`[name$="-${name}"]`);
const nameOf = (row) => field(row, "name").value.trim();

function number() {
  rows().forEach((row, place) => {
    row.querySelector("[data-place]").textContent = String(place + 1);
    field(row, "ORDER").value = String(place + 1);
    row.querySelector('[data-moves="up"]').disabled = place === 0;
    row.querySelector('[data-moves="down"]').disabled = place === rows().length - 1;
  });
}

function say(words, places) {
  said.textContent = words.replace(/%([a-z]+)/g, (_, name) => places[name]);
}

function add() {
  const place = Number(total.value);
  const made = blank.content.cloneNode(true);
  for (const element of made.querySelectorAll("*")) {
    for (const attribute of [...element.attributes]) {
      attribute.value = attribute.value.replaceAll("__prefix__", String(place));
    }
  }
  list.append(made);
  total.value = String(place + 1);
  number();
  field(rows().at(-1), "name").focus();
}

function move(row, by) {
  const all = rows();
  const other = all[all.indexOf(row) + by];
  if (!other) return;
  const focused = document.activeElement;
  if (by < 0) other.before(row);
  else other.after(row);
  number();
  (focused.disabled ? field(row, "name") : focused).focus();
  say(form.dataset.textMoved, { name: nameOf(row), n: rows().indexOf(row) + 1 });
}

function remove(row) {
  const all = rows();
  const next = all[all.indexOf(row) + 1] ?? all[all.indexOf(row) - 1];
  field(row, "DELETE").checked = true;
  row.hidden = true;
  number();
  say(form.dataset.textRemoved, { name: nameOf(row) });
  (next ? field(next, "name") : form.querySelector("[data-adds]")).focus();
}

form.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const row = event.target.closest("[data-row]");
  if (button?.matches("[data-adds]")) {
    event.preventDefault();
    add();
  } else if (button?.dataset.moves) move(row, button.dataset.moves === "up" ? -1 : 1);
  else if (button?.matches("[data-removes]")) remove(row);
});

form.addEventListener("keydown", (event) => {
  const row = event.target.closest("[data-row]");
  if (!row || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
  event.preventDefault();
  move(row, event.key === "ArrowUp" ? -1 : 1);
});

for (const row of list.querySelectorAll("[data-row]")) row.hidden = field(row, "DELETE").checked;
form.dataset.ready = "";
number();
const wrong = form.querySelector("[aria-invalid=true]");
if (wrong) wrong.focus();
else if (!rows().length) add();
