// j and k: the next and the previous case, or the next and the previous line of a list. Links do the same.
"use strict";

const lines = [...document.querySelectorAll(".case-list > li > a")];

function go(step) {
  if (lines.length) {
    const here = lines.findIndex((line) => line.parentElement.contains(document.activeElement));
    lines[Math.min(Math.max(here + step, 0), lines.length - 1)].focus();
    return;
  }
  const link = document.querySelector(`main a[rel=${step > 0 ? "next" : "prev"}]`);
  if (link) link.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "j" || event.key === "k") go(event.key === "j" ? 1 : -1);
});
