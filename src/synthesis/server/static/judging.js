// Follows a judged run by events, and reloads the page when it is over.
"use strict";

const bar = document.getElementById("bar");
const statusLine = document.getElementById("status");
const cancel = document.getElementById("cancel");
const events = new EventSource(statusLine.dataset.events);

events.addEventListener("progress", (event) => {
  const job = JSON.parse(event.data);
  if (!job.total) return;
  bar.max = job.total;
  bar.value = job.judged || 0;
  const failed = job.failed ? `, ${job.failed} could not be judged` : "";
  statusLine.textContent = `${job.judged || 0} of ${job.total} judged${failed}`;
});
events.addEventListener("done", () => {
  events.close();
  location.reload();
});
cancel.hidden = false;
cancel.addEventListener("click", () => {
  cancel.disabled = true;
  fetch(cancel.dataset.cancel, { method: "POST" });
});
