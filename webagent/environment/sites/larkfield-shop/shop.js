// A small invented shop. Cart, orders and address are kept in the browser, which is new each run.
const PRODUCTS = {
  "copper-kettle": { name: "Copper kettle", kind: "kitchen", shape: "kettle", colour: "#b86a3c", price: 48.9, stock: 6, about: "Holds 1.7 litres. For gas and electric stoves." },
  "enamel-kettle": { name: "Enamel kettle", kind: "kitchen", shape: "kettle", colour: "#5d7f93", price: 24.5, stock: 14, about: "Holds 1.2 litres. Light, and safe in the dishwasher." },
  "juniper-teapot": { name: "Juniper teapot", kind: "kitchen", shape: "kettle", colour: "#5f7a58", price: 32, stock: 3, about: "Stoneware with a bamboo handle. Holds four cups." },
  "willow-teapot": { name: "Willow teapot", kind: "kitchen", shape: "kettle", colour: "#8f8a55", price: 36.5, stock: 0, about: "Stoneware with a cane handle. Holds six cups." },
  "tulip-bulbs": { name: "Tulip bulbs", kind: "garden", shape: "flower", colour: "#b5485a", price: 7.2, stock: 120, about: "A pack of 25. Plant them before the first frost." },
  "garden-trowel": { name: "Garden trowel", kind: "garden", shape: "tool", colour: "#6e7479", price: 12.4, stock: 31, about: "Forged steel, with a handle of ash wood." },
  "watering-can": { name: "Watering can", kind: "garden", shape: "kettle", colour: "#57806f", price: 21.9, stock: 9, about: "Holds five litres. The rose comes off." },
  "seed-tin": { name: "Seed tin", kind: "garden", shape: "tool", colour: "#a58a4a", price: 18, stock: 7, about: "Keeps packets dry, month by month." },
  "anglepoise": { name: "Drawing lamp", kind: "lamps", shape: "lamp", colour: "#3d4a57", price: 64, stock: 5, about: "Two joints, a heavy foot." },
  "reading-lamp": { name: "Reading lamp", kind: "lamps", shape: "lamp", colour: "#b08b2e", price: 29.9, stock: 18, about: "Warm light, with a dimmer." },
  "clip-lamp": { name: "Clip lamp", kind: "lamps", shape: "lamp", colour: "#7a4a63", price: 16.5, stock: 22, about: "Holds on to shelves and music stands." },
  "glass-lamp": { name: "Green glass lamp", kind: "lamps", shape: "lamp", colour: "#3f7a56", price: 52, stock: 2, about: "Blown glass and brass." },
};
const KINDS = { kitchen: "Kitchen", garden: "Garden", lamps: "Desk lamps" };
const REVIEWS = [
  { of: "copper-kettle", by: "Ann Pryor", stars: 5, title: "Boils fast", text: "Pours without a drop beside the cup." },
  { of: "copper-kettle", by: "Tom Reyes", stars: 2, title: "Mind your fingers", text: "The handle gets hot." },
  { of: "garden-trowel", by: "Ines Wall", stars: 4, title: "Good steel", text: "The handle wants oil once a year." },
];
const ORDERS = [
  { id: "1058", on: "18 November 2026", status: "Being packed", total: 48.9, items: "1 × Copper kettle" },
  { id: "1051", on: "12 November 2026", status: "On its way", total: 134, items: "2 × Drawing lamp, 1 × postage" },
  { id: "1042", on: "3 November 2026", status: "Delivered", total: 61.4, items: "5 × Tulip bulbs, 2 × Garden trowel" },
  { id: "1019", on: "9 October 2026", status: "Cancelled", total: 36.5, items: "1 × Willow teapot" },
];
const SHAPES = {
  kettle: '<path d="M70 110h90l-12-60H82z"/><path d="M160 60l26-16v10l-22 36z"/><path d="M84 46c4-34 58-34 62 0" fill="none" stroke-width="8"/>',
  flower: '<circle cx="115" cy="50" r="26"/><path d="M111 70h8v50h-8z"/><path d="M115 104c30-4 34-26 34-26s-30 0-34 26"/>',
  tool: '<path d="M100 24h28l6 44-20 26-20-26z"/><path d="M109 88h10v36h-10z"/>',
  lamp: '<path d="M88 34h54l22 42H66z"/><path d="M111 76h8v36h-8z"/><path d="M84 112h62v8H84z"/>',
};

const kept = (key, initial) => JSON.parse(localStorage.getItem(`shop-${key}`)) ?? initial;
const keep = (key, value) => localStorage.setItem(`shop-${key}`, JSON.stringify(value));
const plain = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const money = (amount) => `$${amount.toFixed(2)}`;
const stars = (count) => "★".repeat(count) + "☆".repeat(5 - count);
const picture = (product) =>
  `<svg viewBox="0 0 230 140" aria-hidden="true" fill="${product.colour}" stroke="${product.colour}">${SHAPES[product.shape]}</svg>`;
const cards = (ids) => `<ul class="cards">${ids.map((id) => `<li>${picture(PRODUCTS[id])}<a href="/?product=${id}">${PRODUCTS[id].name}</a>${money(PRODUCTS[id].price)}</li>`).join("")}</ul>`;
const orders = () => ORDERS.map((order) => ({ ...order, ...(kept("cancelled", []).includes(order.id) && { status: "Cancelled" }) }));

function home() {
  return `<h1>For house and garden</h1><p>Everything is packed by hand in Market Street, and most of it leaves on the same day.</p>
<h2>New this week</h2>${cards(["copper-kettle", "tulip-bulbs", "reading-lamp", "juniper-teapot"])}`;
}

function list(kind, sort) {
  const ids = Object.keys(PRODUCTS).filter((id) => PRODUCTS[id].kind === kind);
  if (sort === "price") ids.sort((one, other) => PRODUCTS[one].price - PRODUCTS[other].price);
  if (sort === "-price") ids.sort((one, other) => PRODUCTS[other].price - PRODUCTS[one].price);
  return `<h1>${KINDS[kind]}</h1><p class="sorting"><a href="/?list=${kind}&amp;sort=price">Cheapest first</a><a href="/?list=${kind}&amp;sort=-price">Dearest first</a></p>${cards(ids)}`;
}

function product(id) {
  const shown = PRODUCTS[id];
  const reviews = [...REVIEWS, ...kept("reviews", [])].filter((review) => review.of === id).reverse();
  return `<h1>${shown.name}</h1><div class="product">${picture(shown)}<div><p>${shown.about}</p>
<dl><dt>Price</dt><dd>${money(shown.price)}</dd><dt>In stock</dt><dd>${shown.stock || "none"}</dd></dl>
<button data-do="add" data-id="${id}">Add to cart</button><p class="notice" role="status"></p></div></div>
<h2>Reviews</h2><ul id="reviews">${reviews.map((each) => `<li><h3>${stars(each.stars)} ${plain(each.title)}</h3><p>${plain(each.text)}</p><p>${each.by}</p></li>`).join("") || "<li>No review yet.</li>"}</ul>
<h2>Write a review</h2><form data-do="review" data-id="${id}"><label for="stars">Stars, 1 to 5</label><input id="stars"><label for="title">Title</label><input id="title"><label for="text">Your review</label><input id="text"><button>Send review</button></form>`;
}

function cart() {
  const held = Object.entries(kept("cart", {}));
  const total = held.reduce((sum, [id, count]) => sum + PRODUCTS[id].price * count, 0);
  const rows = held.map(([id, count]) => `<tr><td>${PRODUCTS[id].name} × ${count}</td><td>${money(PRODUCTS[id].price * count)}</td></tr>`);
  return `<h1>Cart</h1><table id="cart"><tbody>${rows.join("") || "<tr><td>Your cart is empty.</td></tr>"}<tr><th>Total</th><th>${money(total)}</th></tr></tbody></table>`;
}

function orderList() {
  const rows = orders().map((order) => `<tr><td><a href="/?order=${order.id}">Order ${order.id}</a></td><td>${order.on}</td><td>${order.status}</td><td>${money(order.total)}</td></tr>`);
  return `<h1>My orders</h1><table><thead><tr><th>Order</th><th>Placed on</th><th>Status</th><th>Total</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function order(id) {
  const shown = orders().find((each) => each.id === id);
  const cancel = shown.status === "Being packed" ? `<button data-do="cancel" data-id="${id}">Cancel this order</button>` : "";
  return `<h1>Order ${id}</h1><dl><dt>Placed on</dt><dd>${shown.on}</dd><dt>Status</dt><dd id="status">${shown.status}</dd><dt>Items</dt><dd>${shown.items}</dd><dt>Total</dt><dd>${money(shown.total)}</dd></dl>${cancel}`;
}

function account() {
  const address = kept("address", { street: "27 Quay Road", town: "Larkfield" });
  return `<h1>My account</h1><dl><dt>Name</dt><dd>Mira Holt</dd><dt>Delivered to</dt><dd id="address">${plain(address.street)}, ${plain(address.town)}</dd></dl>
<h2>Delivery address</h2><form data-do="address"><label for="street">Street</label><input id="street" value="${plain(address.street)}"><label for="town">Town</label><input id="town" value="${plain(address.town)}"><button>Save address</button></form><p class="notice" role="status"></p>`;
}

const value = (id) => document.getElementById(id).value.trim();
const DEEDS = {
  add: (id) => {
    const held = kept("cart", {});
    keep("cart", { ...held, [id]: (held[id] ?? 0) + 1 });
    return `${(held[id] ?? 0) + 1} in your cart.`;
  },
  review: (of) => keep("reviews", [...kept("reviews", []), { of, by: "Mira Holt", stars: Math.min(5, Math.max(1, Number(value("stars")) || 1)), title: value("title"), text: value("text") }]),
  cancel: (id) => keep("cancelled", [...kept("cancelled", []), id]),
  address: () => keep("address", { street: value("street"), town: value("town") }),
};

function show(notice) {
  const asked = new URLSearchParams(location.search);
  const pages = { list: () => list(asked.get("list"), asked.get("sort")), product: () => product(asked.get("product")), cart, orders: orderList, order: () => order(asked.get("order")), account };
  const page = Object.keys(pages).find((name) => asked.has(name));
  const main = document.querySelector("main");
  main.innerHTML = page ? pages[page]() : home();
  document.title = `${main.querySelector("h1").textContent} - Larkfield Lane`;
  const line = main.querySelector(".notice");
  if (line && notice) line.textContent = notice;
}

document.addEventListener("click", ({ target }) => {
  if (target.dataset.do) show(DEEDS[target.dataset.do](target.dataset.id));
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  const { dataset } = event.target;
  show(DEEDS[dataset.do](dataset.id) ?? "Saved.");
});
show();
