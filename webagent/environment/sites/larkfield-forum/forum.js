// A small invented forum. What is posted and voted is kept in the browser, which is new each run.
const BOARDS = { town: "Town", garden: "Garden", lost: "Lost and found" };
const THREADS = [
  { id: "11", board: "town", title: "Rules of this board", on: "1 March 2026", posts: [["skipper_w", "Talk about the town, not about your neighbours.", 40]] },
  { id: "12", board: "town", title: "Ferry timetable in winter", on: "16 November 2026", posts: [["anneke_b", "Does anybody know how often the ferry runs from December?", 9], ["rowan_m", "The notice at the pier is still the summer one.", 4], ["piet_h", "Ask at the harbour office.", 2]] },
  { id: "13", board: "town", title: "Concert in the old mill", on: "20 November 2026", posts: [["lotte_v", "Saturday at eight, and there are chairs for sixty.", 15], ["anneke_b", "Two of them are mine.", 3]] },
  { id: "21", board: "garden", title: "Moss between the paving stones", on: "14 November 2026", posts: [["rowan_m", "Scrape it, or leave it?", 7], ["piet_h", "Leave it. It drinks the rain.", 12], ["lotte_v", "Hot water, once a month.", 1], ["anneke_b", "I like it, too.", 5], ["piet_h", "It is older than the stones.", 6]] },
  { id: "22", board: "garden", title: "Green tomatoes in November", on: "8 November 2026", posts: [["lotte_v", "Two dozen are still hanging there.", 6], ["rowan_m", "A drawer and an apple.", 11]] },
  { id: "23", board: "garden", title: "Which tomatoes stand the wind?", on: "2 November 2026", posts: [["piet_h", "The small ones by the wall.", 4]] },
  { id: "24", board: "garden", title: "Pruning the pear", on: "22 November 2026", posts: [["anneke_b", "In frost, or before?", 3], ["lotte_v", "Before.", 2]] },
  { id: "30", board: "lost", title: "Read this first: where found things go", on: "1 March 2026", posts: [["skipper_w", "Everything goes to the town hall after a week.", 22]] },
  { id: "31", board: "lost", title: "Grey mitten at the pier", on: "23 November 2026", posts: [["piet_h", "Left hand, small. It hangs on the railing.", 2]] },
  { id: "32", board: "lost", title: "Has anybody seen a red bicycle bell?", on: "19 November 2026", posts: [["lotte_v", "Lost somewhere between mill and market.", 3]] },
];

const kept = (key, initial) => JSON.parse(localStorage.getItem(`forum-${key}`)) ?? initial;
const keep = (key, value) => localStorage.setItem(`forum-${key}`, JSON.stringify(value));
const plain = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const person = (name) => `<a href="/?user=${name}">${name}</a>`;
const answers = (count) => `${count} ${count === 1 ? "answer" : "answers"}`;

function threads() {
  const replies = kept("replies", []);
  const votes = kept("votes", []);
  return [...THREADS, ...kept("threads", [])].map((thread) => ({
    ...thread,
    posts: [...thread.posts, ...replies.filter((each) => each.to === thread.id).map((each) => ["mira_h", each.text, 0])].map(
      ([by, text, count], place) => [by, text, count + (votes.includes(`${thread.id}-${place}`) ? 1 : 0)],
    ),
  }));
}

function table(shown) {
  const rows = shown.map((each) => `<tr><td><a href="/?thread=${each.id}">${plain(each.title)}</a></td><td>${each.posts[0][0]}</td><td>${each.on}</td><td>${answers(each.posts.length - 1)}</td></tr>`);
  return `<table id="threads"><thead><tr><th>Thread</th><th>Started by</th><th>On</th><th>Answers</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function home() {
  const newest = threads().filter((each) => ["13", "24", "31"].includes(each.id));
  return `<h1>What the town talks about</h1><p>Three boards, no advertisements.</p><h2>Lively these days</h2>${table(newest)}`;
}

function board(key) {
  return `<h1>${BOARDS[key]}</h1>${table(threads().filter((each) => each.board === key))}
<h2>Start a thread</h2><form data-do="start" data-of="${key}"><label for="title">Title</label><input id="title"><label for="text">Text</label><textarea id="text" rows="3"></textarea><button>Start thread</button></form>`;
}

function thread(id) {
  const shown = threads().find((each) => each.id === id);
  const posts = shown.posts.map(([by, text, count], place) => `<li id="post-${place}">${person(by)}<p>${plain(text)}</p><span class="votes">${count} votes</span><button data-do="vote" data-of="${id}-${place}" aria-label="Upvote post ${place + 1}">Upvote</button></li>`);
  return `<h1>${plain(shown.title)}</h1><ul id="posts">${posts.join("")}</ul>
<h2>Answer</h2><form data-do="reply" data-of="${id}"><label for="text">Your answer</label><textarea id="text" rows="3"></textarea><button>Post answer</button></form>`;
}

function user(name) {
  const rows = threads().flatMap((each) => each.posts.filter(([by]) => by === name).map(([, text]) => `<tr><td><a href="/?thread=${each.id}">${plain(each.title)}</a></td><td>${plain(text)}</td></tr>`));
  return `<h1>${plain(name)}</h1><p>${rows.length} posts</p><table><thead><tr><th>Thread</th><th>Post</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

const value = (id) => document.getElementById(id).value.trim();
const DEEDS = {
  vote: (post) => keep("votes", [...new Set([...kept("votes", []), post])]),
  reply: (to) => keep("replies", [...kept("replies", []), { to, text: value("text") }]),
  start: (key) => {
    const id = String(90 + kept("threads", []).length);
    keep("threads", [...kept("threads", []), { id, board: key, title: value("title"), on: "today", posts: [["mira_h", value("text"), 0]] }]);
  },
};

function show() {
  const asked = new URLSearchParams(location.search);
  const pages = { board, thread, user };
  const page = Object.keys(pages).find((name) => asked.has(name));
  const main = document.querySelector("main");
  main.innerHTML = page ? pages[page](asked.get(page)) : home();
  document.title = `${main.querySelector("h1").textContent} - Larkfield Talk`;
}

document.addEventListener("click", ({ target }) => {
  if (!target.dataset.do) return;
  DEEDS[target.dataset.do](target.dataset.of);
  show();
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  DEEDS[event.target.dataset.do](event.target.dataset.of);
  show();
});
show();
