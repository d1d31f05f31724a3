// Reservations live in the browser profile alone, so that every run starts from the same library.
const KEY = "larkfield-reservations";
const reserved = () => JSON.parse(localStorage.getItem(KEY) || "[]");

const button = document.getElementById("reserve");
if (button) {
  button.addEventListener("click", () => {
    const titles = reserved();
    if (!titles.includes(button.dataset.title)) titles.push(button.dataset.title);
    localStorage.setItem(KEY, JSON.stringify(titles));
    document.getElementById("notice").textContent = "Reserved. You will find it under My reservations.";
  });
}

const list = document.getElementById("reservations");
if (list) {
  for (const title of reserved()) {
    const item = document.createElement("li");
    item.textContent = title;
    list.append(item);
    document.getElementById("empty").hidden = true;
  }
}

const search = document.getElementById("search");
if (search) {
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const row of document.querySelectorAll("#books tbody tr")) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}

const form = document.getElementById("contact");
if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const subject = document.getElementById("subject").value;
    document.getElementById("sent").textContent = `Thank you. Your message "${subject}" was sent.`;
  });
}
