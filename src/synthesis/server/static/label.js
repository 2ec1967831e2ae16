// Labels one verdict after the other, by keys or buttons. They stay in this tab (sessionStorage) until they are exported.
"use strict";

const bench = document.getElementById("bench");
const warning = document.getElementById("warning");
const help = document.getElementById("help");
const told = document.getElementById("told");
const bar = document.getElementById("bar");
const items = [...document.querySelectorAll(".label-item")];
const samples = bench && bench.dataset.mode === "samples";
const PLACE = bench ? `synthesis-label:${bench.dataset.source}` : "";
const ACCEPTED = "synthesis-label-accepted";
let state = { labels: {}, done: [] }; // labels: key -> { export, answers: { name: answer } }
let at = 0;
let asked = 0;
let notice = "";

function load() {
  try {
    state = JSON.parse(sessionStorage.getItem(PLACE)) || state;
  } catch {
    state = { labels: {}, done: [] };
  }
}

function keep() {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(state));
  } catch {
    notice = "The browser's storage is full: export now.";
  }
}

const questions = (item) => [...item.querySelectorAll(".question")];
const answersOf = (key) => (state.labels[key] ? state.labels[key].answers : {});

function show(focus) {
  items.forEach((item, number) => (item.hidden = number !== at));
  const item = items[at];
  const given = answersOf(item.dataset.key);
  questions(item).forEach((question, number) => {
    question.toggleAttribute("data-current", number === asked);
    question.querySelectorAll("[data-answer]").forEach((button) =>
      button.setAttribute("aria-pressed", String(given[question.dataset.name] === button.dataset.answer))
    );
  });
  const here = items.filter((one) => Object.keys(answersOf(one.dataset.key)).length).length;
  const all = Object.values(state.labels).reduce((sum, one) => sum + Object.keys(one.answers).length, 0);
  bar.value = here;
  told.textContent = `${here} of ${items.length} started, ${all} verdicts labelled. ${notice}`.trim();
  notice = "";
  if (focus) item.querySelector("h2").focus({ preventScroll: true });
}

function go(steps) {
  const goal = at + steps;
  if (goal < 0 || goal >= items.length) {
    notice = steps > 0 ? "That was the last one." : "That was the first one.";
    show(false);
    return;
  }
  at = goal;
  const open = questions(items[at]).findIndex((one) => !(one.dataset.name in answersOf(items[at].dataset.key)));
  asked = Math.max(open, 0);
  show(true);
  items[at].scrollIntoView({ block: "start" });
}

function set(item, name, answer) {
  const key = item.dataset.key;
  const label = state.labels[key] || { export: JSON.parse(item.dataset.export), answers: {}, values: {} };
  if (answer === null) delete label.answers[name];
  else label.answers[name] = answer;
  label.values = Object.fromEntries(questions(item).map((one) => [one.dataset.name, one.dataset.value]));
  state.labels[key] = label;
  if (!Object.keys(label.answers).length) delete state.labels[key];
}

function label(answer) {
  const item = items[at];
  const name = questions(item)[asked].dataset.name;
  const before = answersOf(item.dataset.key)[name];
  state.done.push([item.dataset.key, name, before === undefined ? null : before]);
  set(item, name, answer);
  keep();
  if (asked + 1 < questions(item).length) {
    asked += 1;
    show(false);
  } else if (at + 1 < items.length) go(1);
  else {
    notice = "That was the last one.";
    show(false);
  }
}

function undo() {
  const last = state.done.pop();
  if (!last) {
    notice = "There is nothing to undo.";
    show(false);
    return;
  }
  const [key, name, before] = last;
  const place = items.findIndex((item) => item.dataset.key === key);
  if (place < 0) {
    notice = "The last label is in another part.";
    state.done.push(last);
    show(false);
    return;
  }
  const moved = place !== at;
  at = place;
  set(items[at], name, before);
  asked = questions(items[at]).findIndex((one) => one.dataset.name === name);
  keep();
  show(moved);
}

// What a label means in the file: a check should pass or not, a sample deserves a score.
function meaning(answer, value) {
  if (samples) return Number(answer === "agree" ? value : answer);
  return answer === "agree" ? value === "true" : value !== "true";
}

function exported() {
  const keys = Object.keys(state.labels).sort((one, other) => Number(one) - Number(other));
  const rows = keys.map((key) => {
    const one = state.labels[key];
    const pairs = Object.entries(one.answers).map(([name, answer]) => [name, meaning(answer, one.values[name])]);
    const given = Object.fromEntries(pairs);
    return samples ? { ...one.export, ...given } : { ...one.export, expected: { ...one.export.expected, ...given } };
  });
  return samples ? JSON.stringify(rows, null, 2) + "\n" : rows.map((row) => JSON.stringify(row) + "\n").join("");
}

function save() {
  if (!Object.keys(state.labels).length) {
    notice = "There is nothing to export yet.";
    show(false);
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([exported()], { type: samples ? "application/json" : "application/x-ndjson" }));
  link.download = samples ? "labels.json" : "labelled-cases.jsonl";
  link.click();
  URL.revokeObjectURL(link.href);
  notice = samples
    ? "Exported. `synthesis judge calibrate RUN labels.json` compares them with the judge."
    : "Exported. `synthesis eval labelled-cases.jsonl` measures the checks against them.";
  show(false);
}

const ACTIONS = {
  next: () => go(1),
  back: () => go(-1),
  undo,
  help: () => help.showModal(),
  export: save,
};
const KEYS = { j: "next", ArrowRight: "next", k: "back", ArrowLeft: "back", u: "undo", "?": "help" };

function onKey(event) {
  if (bench.hidden || help.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const item = items[at];
  if (KEYS[event.key]) ACTIONS[KEYS[event.key]]();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const step = event.key === "ArrowDown" ? 1 : -1;
    asked = Math.min(Math.max(asked + step, 0), questions(item).length - 1);
    show(false);
  } else if (event.key === "a") label("agree");
  else if (event.key === "d" && !samples) label("disagree");
  else if (event.key === "d") {
    notice = "Which score would you give? Press 1 to 5.";
    show(false);
  } else if (samples && /^[1-5]$/.test(event.key)) {
    label(event.key === questions(item)[asked].dataset.value ? "agree" : event.key);
  } else return;
  event.preventDefault();
}

function begin() {
  if (warning) warning.hidden = true;
  bench.hidden = false;
  load();
  const open = items.findIndex((item) => !(item.dataset.key in state.labels));
  at = Math.max(open, 0);
  show(true);
}

if (bench) {
  document.addEventListener("keydown", onKey);
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.do) ACTIONS[button.dataset.do]();
    if (!button.dataset.answer) return;
    asked = questions(items[at]).indexOf(button.closest(".question"));
    label(button.dataset.answer);
  });
  if (!warning || sessionStorage.getItem(ACCEPTED + bench.dataset.source)) begin();
  else {
    document.getElementById("accept").addEventListener("click", () => {
      sessionStorage.setItem(ACCEPTED + bench.dataset.source, "yes");
      begin();
    });
  }
}
