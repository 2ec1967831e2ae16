// Searches the cases of a report, moves through them with j and k, and shows the notes on a mark beside it.
// Without it the page works all the same: filters need no script, and a mark leads to its notes.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("by-words");
  const cases = [...document.querySelectorAll(".case")];
  let texts = null; // read when somebody searches, not before
  let timer = 0;

  // A closed card is text until it is opened: thousands of them are read in no time.
  function unfold(one) {
    const folded = one.querySelector("noscript");
    folded?.replaceWith(document.createRange().createContextualFragment(folded.textContent));
  }

  function plain(one) {
    const folded = one.querySelector("noscript");
    if (!folded) return one.textContent.toLowerCase();
    const head = one.querySelector("summary").innerHTML;
    return (head + folded.textContent).replace(/<[^>]*>/g, "").replace(/&#39;/g, "'").replace(/&#34;/g, '"').toLowerCase();
  }

  function search() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    texts ??= cases.map(plain);
    cases.forEach((one, place) => {
      one.classList.toggle("unfound", !words.every((word) => texts[place].includes(word)));
    });
  }

  function move(step) {
    const heads = cases.filter((one) => one.checkVisibility()).map((one) => one.querySelector("summary"));
    const here = heads.findIndex((head) => head.parentElement.contains(document.activeElement));
    heads[Math.min(Math.max(here + step, 0), heads.length - 1)]?.focus();
  }

  const tip = document.createElement("div");
  tip.className = "tip floating";
  tip.setAttribute("role", "tooltip");
  let pointed = null;

  function show() {
    const link = pointed ?? document.activeElement?.closest("mark a");
    const notes = link?.getAttribute("aria-describedby")?.split(" ") ?? [];
    tip.hidden = notes.length === 0;
    tip.replaceChildren(...notes.flatMap((name) => [...document.getElementById(name).cloneNode(true).childNodes]));
  }

  document.body.append(tip);
  tip.hidden = true;
  addEventListener("mouseover", (event) => {
    const before = pointed;
    pointed = event.target.closest("mark")?.querySelector("a[aria-describedby]") ?? null;
    if (before !== pointed) show();
  });
  addEventListener("focusin", show);
  addEventListener("focusout", () => setTimeout(show));
  document.getElementById("search").hidden = false;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  box.form.addEventListener("reset", () => setTimeout(search));
  box.form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === "j") move(1);
    if (event.key === "k") move(-1);
  });
  document.addEventListener("click", (event) => {
    const head = event.target.closest(".case > details > summary");
    if (head) unfold(head.closest(".case"));
    const note = document.getElementById(event.target.closest("mark a")?.hash.slice(1));
    for (let fold = note?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  });
  document.addEventListener("toggle", (event) => unfold(event.target), true);
  addEventListener("beforeprint", () => {
    for (const one of cases.filter((each) => each.checkVisibility())) {
      unfold(one);
      one.firstElementChild.open = true;
    }
  });
});
