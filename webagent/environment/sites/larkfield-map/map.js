// The map of an invented town. Saved places are kept in the browser, which is new each run.
const PLACES = {
  anker: { name: "Café Anker", kind: "food", at: [610, 420], where: "4 Harbour Square", open: "8:00 to 18:00", phone: "555-014-2247" },
  kade: { name: "Kade 9", kind: "food", at: [560, 455], where: "9 Harbour Square", open: "9:00 to 23:00", phone: "555-014-2291", about: "Café and wine bar." },
  mill: { name: "Mill bakery", kind: "food", at: [210, 160], where: "1 Mill Lane", open: "6:30 to 14:00", phone: "555-014-2205" },
  museum: { name: "Museum of Tides", kind: "sights", at: [480, 380], where: "12 Quay Road", open: "10:00 to 17:30, Saturdays to 20:00", phone: "555-014-2290" },
  garden: { name: "Botanic garden", kind: "sights", at: [160, 330], where: "40 Park Avenue", open: "7:00 to dusk", phone: "555-014-2238" },
  lighthouse: { name: "Lighthouse", kind: "sights", at: [640, 515], where: "Breakwater", open: "Sundays only", phone: "555-014-2260" },
  library: { name: "Library", kind: "sights", at: [330, 240], where: "14 Orchard Row", open: "9:00 to 19:00", phone: "555-014-2200" },
  station: { name: "Station", kind: "transport", at: [120, 90], where: "Station Square", open: "always", phone: "555-014-2210" },
  pier: { name: "Ferry pier", kind: "transport", at: [650, 380], where: "Harbour Square", open: "6:00 to 22:00", phone: "555-014-2213" },
  pool: { name: "Swimming pool", kind: "sights", at: [420, 120], where: "5 Meadow Street", open: "7:00 to 21:00", phone: "555-014-2277" },
};
const KINDS = { food: "Eat and drink", sights: "Sights", transport: "Transport" };
const SPEEDS = { foot: ["On foot", 80], bicycle: ["By bicycle", 250], car: ["By car", 420] };
const STREETS = ["M0 90H800", "M0 240H640", "M0 380H700", "M120 0V460", "M330 0V460", "M480 40V470", "M610 240V470", "M160 90V400"];

const kept = () => JSON.parse(localStorage.getItem("map-saved")) ?? [];
const links = (ids) => `<ul>${ids.map((id) => `<li><a href="/?place=${id}">${PLACES[id].name}</a> ${PLACES[id].where}</li>`).join("")}</ul>`;
const corner = ([x, y], [, toY]) => [x, toY === y ? y : toY];
const metres = ([x, y], [toX, toY]) => Math.round((Math.abs(toX - x) + Math.abs(toY - y)) * 2.4);

function drawn(ids, line = []) {
  const marks = Object.entries(PLACES).map(([id, { name, at: [x, y] }]) => {
    const chosen = ids.includes(id);
    return `<circle cx="${x}" cy="${y}" r="${chosen ? 10 : 6}" fill="${chosen ? "#c04a2b" : "#2d5f8a"}"/><text x="${x + 12}" y="${y - 8}" font-size="15" fill="#2b2f36">${name}</text>`;
  });
  const way = line.length ? `<polyline points="${line.join(" ")}" fill="none" stroke="#c04a2b" stroke-width="6"/>` : "";
  return `<svg viewBox="0 0 800 560" preserveAspectRatio="xMidYMid slice"><path d="M0 470C200 430 420 500 560 470S740 330 800 320V560H0z" fill="#bcd7e6"/><path d="M90 270h150v130H90z" fill="#cfe0b8"/><g stroke="#fff" stroke-width="11" fill="none">${STREETS.map((each) => `<path d="${each}"/>`).join("")}</g>${way}${marks.join("")}</svg>`;
}

function home() {
  return [`<h1>Find your way</h1><p>Ten places that everybody asks for.</p>${links(Object.keys(PLACES).slice(0, 10))}`, drawn([])];
}

function kind(key) {
  const ids = Object.keys(PLACES).filter((id) => PLACES[id].kind === key);
  return [`<h1>${KINDS[key]}</h1>${links(ids)}`, drawn(ids)];
}

function place(id) {
  const shown = PLACES[id];
  return [
    `<h1>${shown.name}</h1><p>${shown.about ?? ""}</p><dl><dt>Address</dt><dd>${shown.where}</dd><dt>Open</dt><dd>${shown.open}</dd><dt>Telephone</dt><dd>${shown.phone}</dd></dl><button data-save="${id}">Save to my places</button><p class="notice" role="status"></p><p><a href="/?way">Directions</a></p>`,
    drawn([id]),
  ];
}

function saved() {
  return [`<h1>My places</h1><div id="saved">${kept().length ? links(kept()) : "<p>Nothing is saved yet.</p>"}</div>`, drawn(kept())];
}

function way(asked) {
  const [from, to] = ["from", "to"].map((key) => Object.keys(PLACES).find((id) => id === asked.get(key)));
  const by = SPEEDS[asked.get("by")] ? asked.get("by") : "foot";
  const form = `<form><label for="from">From</label><input id="from" value="${from ? PLACES[from].name : ""}"><label for="to">To</label><input id="to" value="${to ? PLACES[to].name : ""}"><label for="by">How</label><select id="by">${Object.entries(SPEEDS).map(([key, [name]]) => `<option value="${key}"${key === by ? " selected" : ""}>${name}</option>`).join("")}</select><button>Show the way</button></form>`;
  if (!from || !to) return [`<h1>Directions</h1>${form}<p class="notice" role="status"></p>`, drawn([])];
  const [start, end] = [PLACES[from].at, PLACES[to].at];
  const long = metres(start, end);
  return [
    `<h1>Directions</h1>${form}<dl><dt>Distance</dt><dd>${(long / 1000).toFixed(1)} km</dd><dt>Time</dt><dd>${Math.round(long / SPEEDS[by][1])} min</dd></dl>`,
    drawn([from, to], [start, corner(start, end), end]),
  ];
}

function show() {
  const asked = new URLSearchParams(location.search);
  const pages = { kind: () => kind(asked.get("kind")), place: () => place(asked.get("place")), saved, way: () => way(asked), from: () => way(asked) };
  const page = Object.keys(pages).find((name) => asked.has(name));
  const [text, map] = page ? pages[page]() : home();
  const main = document.querySelector("main");
  main.innerHTML = text;
  document.getElementById("map").innerHTML = map;
  document.title = `${main.querySelector("h1").textContent} - Larkfield Map`;
}

document.addEventListener("click", ({ target }) => {
  if (!target.dataset.save) return;
  localStorage.setItem("map-saved", JSON.stringify([...new Set([...kept(), target.dataset.save])]));
  document.querySelector(".notice").textContent = "Saved to my places.";
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = (key) => document.getElementById(key).value.trim().toLowerCase();
  const [from, to] = ["from", "to"].map((key) => Object.keys(PLACES).find((id) => PLACES[id].name.toLowerCase() === typed(key)));
  if (from && to) location.search = `?from=${from}&to=${to}&by=${typed("by")}`;
  else document.querySelector(".notice").textContent = "One of the places is not on this map.";
});
show();
