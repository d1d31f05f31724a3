// Small things that the parts of the timeline share: elements, phrases, addresses, places.
export const SVG = "http://www.w3.org/2000/svg";

export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

export function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

// A phrase with its places filled: phrase("step %i of %n", {i: 3, n: 12}).
export function phrase(words, places) {
  return words.replace(/%([a-z]+)/g, (whole, name) => (name in places ? String(places[name]) : whole));
}

export function seconds(words, value) {
  if (value === null) return "";
  const shown = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: value < 10 ? 1 : 0 });
  return phrase(words.seconds, { n: shown.format(value) });
}

export function blobUrl(data, sha256) {
  return sha256 && data.blob_url.replace(/0{64}/, sha256);
}

// Events over numbers of steps as events over their places in the list.
export function placedEvents({ steps, events }) {
  const atOrAfter = (number) => steps.findIndex((step) => step.i >= number);
  return events
    .map((event) => {
      const first = atOrAfter(event.first);
      const to = event.to === undefined ? -1 : atOrAfter(event.to);
      return {
        ...event,
        first: first < 0 ? Infinity : first,
        last: steps.findLastIndex((step) => step.i <= event.last),
        to: to < 0 ? undefined : to,
      };
    })
    .filter((event) => event.first <= event.last);
}
