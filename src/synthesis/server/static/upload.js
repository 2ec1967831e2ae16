// A file goes to the API, is followed by events, and becomes a saved run or a set to label.
"use strict";

const form = document.getElementById("upload");
const progress = document.getElementById("progress");
const button = form.querySelector("button");

function say(words, kind) {
  progress.className = kind ? `progress ${kind}` : "progress";
  progress.textContent = words;
}

async function answered(response) {
  const body = await response.json();
  if (!response.ok) throw new Error([body.error.message, body.error.hint].filter(Boolean).join(" "));
  return body;
}

function followed(address, told) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(address);
    events.addEventListener("progress", (event) => told(JSON.parse(event.data)));
    events.addEventListener("done", (event) => {
      events.close();
      const job = JSON.parse(event.data);
      if (job.state === "done") resolve(job);
      else reject(new Error(job.error ? job.error.message : "It was cancelled."));
    });
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) reject(new Error("The server did not answer."));
    };
  });
}

function told(job) {
  if (!job.cases) return "Reading …";
  const speed = job.cases_per_second ? `, ${Math.round(job.cases_per_second)} per second` : "";
  const left = job.seconds_left ? `, about ${Math.ceil(job.seconds_left)} s left` : "";
  return `${job.cases} cases evaluated${speed}${left} …`;
}

async function run() {
  const file = document.getElementById("file").files[0];
  const ending = (file.name.match(/\.(jsonl|json|csv|tsv)$/i) || ["", "jsonl"])[1].toLowerCase();
  const kinds = { jsonl: "jsonl", json: "json", csv: "csv", tsv: "tsv" };
  say(`Sending ${file.name} …`);
  const sent = await fetch(`/api/v1/uploads?kind=${kinds[ending]}`, { method: "POST", body: file });
  const upload = await answered(sent);
  await followed(`/api/v1/uploads/${upload.id}/events`, (job) =>
    say(job.state === "waiting" ? "Waiting for its turn." : told(job))
  );
  say("Saving …");
  if (form.dataset.then === "label") return `/label/cases?upload=${upload.id}`;
  const order = { upload: upload.id, name: file.name.slice(0, 200), save_text: document.getElementById("save-text").checked };
  const saved = await fetch("/api/v1/runs", { method: "POST", body: JSON.stringify(order) });
  return `/runs/${(await answered(saved)).id}`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  try {
    location.href = await run();
  } catch (error) {
    say(error.message, "bad");
  }
  button.disabled = false;
});
