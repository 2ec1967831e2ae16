// Keys for the page of one question: each button names its own. Everything works without this, too.
"use strict";

const form = document.querySelector("form.answers");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, select, textarea")) return;
  const wanted = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key.toLowerCase());
  if (!wanted || !wanted.checkVisibility()) return; // an answer that is folded away is not given by a slip
  event.preventDefault();
  wanted.click();
});

// A second press while the answer travels would answer the next question unread.
form.addEventListener("submit", (event) => {
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => delete form.dataset.sent); // the browser's back button keeps the page as it was
