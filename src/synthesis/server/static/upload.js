// A file is looked at, then goes to the API, is followed by events, and becomes a saved run.
"use strict";

const form = document.getElementById("upload");
const progress = document.getElementById("progress");
const button = form.querySelector("button");
const choices = document.getElementById("choices");
const KINDS = ["jsonl", "json", "csv", "tsv", "parquet"];
const BEGINNING = 256 << 10; // bytes that are looked at
const FIELDS = {
  message: { conversation: "Conversation", role: "Who says it", text: "What is said" },
  exchange: { user: "What the user says", assistant: "The reply", conversation: "Conversation", id: "Id of the row" },
  conversation: { messages: "The messages", id: "Id of the row" },
};
const SETTLED = ["case", "known"]; // nothing is left to choose
const NOT_NEEDED = { exchange: ["conversation", "id"], conversation: ["id"] };
let seen = null; // what the server says about the beginning of the chosen file

function say(words, kind) {
  progress.className = kind ? `progress ${kind}` : "progress";
  progress.textContent = words;
}

function made(name, text, values = {}) {
  const element = Object.assign(document.createElement(name), values);
  element.append(text);
  return element;
}

async function answered(response) {
  const body = await response.json();
  if (!response.ok) throw failed(body.error);
  return body;
}

function failed(error) {
  return new Error(error ? [error.message, error.hint].filter(Boolean).join("\n") : "It was cancelled.");
}

function kindOf(file) {
  const ending = file.name.split(".").pop().toLowerCase();
  return KINDS.includes(ending) ? ending : "jsonl";
}

// The beginning in whole lines; of a Parquet file the end, which says what its columns are.
async function beginning(file) {
  if (file.size <= BEGINNING) return file;
  if (kindOf(file) === "parquet") return file.slice(-BEGINNING);
  const bytes = new Uint8Array(await file.slice(0, BEGINNING).arrayBuffer());
  const end = bytes.lastIndexOf(10) + 1;
  return kindOf(file) === "json" || !end ? bytes : bytes.slice(0, end);
}

async function look(file) {
  seen = null;
  choices.hidden = true;
  say("");
  const body = await beginning(file);
  const sent = await fetch(`/api/v1/previews?kind=${kindOf(file)}`, { method: "POST", body });
  const preview = await answered(sent);
  const unreadable = preview.rows.find((row) => row.problem);
  if (!preview.columns.length) throw new Error(unreadable ? `Line ${unreadable.line} ${unreadable.problem}` : "The file has no rows.");
  seen = preview;
  showRows();
  for (const id of ["shape", "columns"]) document.getElementById(id).hidden = SETTLED.includes(seen.shape);
  document.getElementById("checks").hidden = seen.shape === "case";
  for (const one of form.elements.shape) one.checked = one.value === seen.shape;
  showColumns();
  choices.hidden = false;
}

function showRows() {
  const head = made("tr", "");
  for (const name of seen.columns) {
    const cell = made("th", name, { scope: "col" });
    cell.append(document.createElement("small"));
    head.append(cell);
  }
  const rows = seen.rows.map((row) => {
    const line = made("tr", "");
    if (row.problem) line.append(made("td", `Line ${row.line} ${row.problem}`, { colSpan: Math.max(1, seen.columns.length) }));
    for (const text of row.cells || []) {
      line.append(made("td", text, { dir: "auto", className: text.length > 40 ? "wide" : "" }));
    }
    return line;
  });
  const [top, body] = [made("thead", head), document.createElement("tbody")];
  body.append(...rows);
  document.getElementById("rows").replaceChildren(top, body);
  const about = {
    case: "These are cases: each names the checks to run.",
    known: "This is a log of a known shape: nothing has to be chosen.",
  };
  const words = about[seen.shape] || "";
  document.getElementById("about").textContent = seen.rows.length ? words : "Only the columns of this file are shown.";
}

function shape() {
  return form.elements.shape.value;
}

function fieldsToChoose() {
  return SETTLED.includes(seen.shape) ? {} : FIELDS[shape()];
}

function showColumns() {
  const place = document.getElementById("columns");
  const fields = Object.entries(fieldsToChoose());
  place.replaceChildren(...fields.map(([field, words]) => {
    const chooser = made("select", "", { id: `column-${field}` });
    const empty = (NOT_NEEDED[shape()] || []).includes(field) ? "none" : "choose a column";
    chooser.append(made("option", empty, { value: "" }));
    for (const name of seen.columns) chooser.append(made("option", name, { value: name }));
    chooser.value = shape() === seen.shape ? seen.map[field] || "" : "";
    chooser.addEventListener("change", showChosen);
    const part = document.createElement("div");
    part.append(made("label", words, { htmlFor: chooser.id }), chooser);
    return part;
  }));
  showChosen();
}

function chosen() {
  const pairs = Object.keys(fieldsToChoose()).map((field) => [field, document.getElementById(`column-${field}`).value]);
  return Object.fromEntries(pairs.filter(([, name]) => name));
}

// Each column says what it is taken for.
function showChosen() {
  const columns = chosen();
  const words = Object.fromEntries(Object.entries(columns).map(([field, name]) => [name, FIELDS[shape()][field]]));
  for (const cell of document.querySelectorAll("#rows th")) {
    cell.lastElementChild.textContent = words[cell.firstChild.data] || "";
  }
  document.getElementById("sorting").hidden = !columns.conversation;
}

// What the choices say, as the API takes it; an Error in the words of the page if they do not go together.
function asked() {
  if (!choices || !seen) return {};
  const columns = chosen();
  const fields = fieldsToChoose();
  for (const [field, words] of Object.entries(fields)) {
    const needed = !(NOT_NEEDED[shape()] || []).includes(field);
    if (needed && !columns[field]) throw new Error(`Choose a column for “${words}”.`);
    const other = Object.keys(columns).find((one) => one !== field && columns[one] === columns[field]);
    if (columns[field] && other) {
      throw new Error(`“${words}” and “${fields[other]}” are the same column: choose another for one of them.`);
    }
  }
  if (columns.conversation && columns.id) throw new Error("A conversation is called by its name: choose no “Id of the row”.");
  const names = [...form.querySelectorAll("[name=checks]:checked")].map((box) => box.value);
  if (seen.shape !== "case" && !names.length) throw new Error("Choose a check.");
  return {
    ...(seen.shape === "case" ? {} : { map: JSON.stringify(columns), checks: names.join(",") }),
    ...(columns.conversation && document.getElementById("sort").checked ? { sort: "true" } : {}),
    profile: document.getElementById("profile").value,
    reader: document.getElementById("reader").value,
    lang: document.getElementById("language").value,
  };
}

function followed(address, onProgress) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(address);
    events.addEventListener("progress", (event) => onProgress(JSON.parse(event.data)));
    events.addEventListener("done", (event) => {
      events.close();
      const job = JSON.parse(event.data);
      if (job.state === "done") resolve(job);
      else reject(failed(job.error));
    });
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) reject(new Error("The server did not answer."));
    };
  });
}

function progressOf(job) {
  if (!job.cases) return "Reading …";
  const speed = job.cases_per_second ? `, ${Math.round(job.cases_per_second)} per second` : "";
  const left = job.seconds_left ? `, about ${Math.ceil(job.seconds_left)} s left` : "";
  return `${job.cases} cases evaluated${speed}${left} …`;
}

async function run() {
  const file = document.getElementById("file").files[0];
  const query = new URLSearchParams({ kind: kindOf(file), ...asked() });
  say(`Sending ${file.name} …`);
  const sent = await fetch(`/api/v1/uploads?${query}`, { method: "POST", body: file });
  const upload = await answered(sent);
  await followed(`/api/v1/uploads/${upload.id}/events`, (job) =>
    say(job.state === "waiting" ? "Waiting for its turn." : progressOf(job))
  );
  say("Saving …");
  const [name, release] = ["run-name", "release"].map((id) => document.getElementById(id).value.trim());
  const order = {
    upload: upload.id,
    name: name || file.name.slice(0, 200),
    save_text: document.getElementById("save-text").checked,
    tags: release ? [release] : [],
  };
  const saved = await fetch("/api/v1/runs", { method: "POST", body: JSON.stringify(order) });
  return `/runs/${(await answered(saved)).id}`;
}

async function attempt(work) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    // The browser's own words for a request that never arrived say nothing to anybody.
    const lost = "The file could not be sent. If it has changed since, choose it again; else the server does not answer.";
    say(error instanceof TypeError ? lost : error.message, "bad");
  }
  button.disabled = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    location.href = await run();
  });
});
if (choices) {
  const file = document.getElementById("file");
  file.addEventListener("change", () => file.files.length && attempt(() => look(file.files[0])));
  for (const one of form.elements.shape) one.addEventListener("change", showColumns);
  if (file.files.length) attempt(() => look(file.files[0])); // a browser keeps the file when the page is loaded again
}
