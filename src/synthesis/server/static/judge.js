// Sends a test set to be judged; the page of the run then follows it.
"use strict";

const form = document.getElementById("judge");
const progress = document.getElementById("progress");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = document.getElementById("file").files[0];
  const options = new URLSearchParams({
    name: file.name.replace(/\.json$/i, "").slice(0, 200),
    iterations: document.getElementById("own-iterations").value,
    save_text: document.getElementById("save-text").checked,
  });
  progress.className = "progress";
  progress.textContent = `Sending ${file.name} …`;
  try {
    const response = await fetch(`/api/v1/judge/runs?${options}`, { method: "POST", body: file });
    const body = await response.json();
    if (!response.ok) throw new Error([body.error.message, body.error.hint].filter(Boolean).join(" "));
    location.href = `/judged/${body.id}`;
  } catch (error) {
    progress.className = "progress bad";
    progress.textContent = error.message;
  }
});
