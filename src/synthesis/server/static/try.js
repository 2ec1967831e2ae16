// The verdict as you type: one request at a time, the latest wins. Without this script the button does the same.
"use strict";

const form = document.getElementById("try");
const target = document.getElementById("verdict");
const spoken = document.getElementById("spoken");
const PAUSE = 250; // milliseconds without typing
let timer = 0;
let running = null;

async function check() {
  if (running) running.abort();
  running = new AbortController();
  target.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.dataset.verdict, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "text/html" },
      signal: running.signal,
    });
    if (answer.ok) show(await answer.text());
    else say(await problem(answer));
  } catch (error) {
    if (error.name !== "AbortError") say("The server did not answer.");
    else return;
  }
  target.removeAttribute("aria-busy");
}

function show(html) {
  target.innerHTML = html; // made by the server, with everything that was typed escaped
  const headline = target.querySelector("[data-spoken]");
  const words = headline ? headline.dataset.spoken : "";
  if (words && words !== spoken.textContent) spoken.textContent = words;
}

async function problem(answer) {
  const body = await answer.text();
  const page = new DOMParser().parseFromString(body, "text/html");
  const title = page.querySelector("h1");
  return title ? title.textContent : "The server refused.";
}

function say(words) {
  const line = document.createElement("p");
  line.className = "bad";
  line.textContent = words;
  target.replaceChildren(line);
  spoken.textContent = words;
}

document.addEventListener("input", (event) => {
  if (event.target.form !== form) return; // the options stand outside of the form, and belong to it
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  check();
});
