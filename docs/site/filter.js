// Pages of rules have hundreds of rows: a field above them keeps the rows that hold all of its words.
function addFilter() {
  const rows = [...document.querySelectorAll("article table tbody tr")];
  if (!location.pathname.includes("/reference/rules.") || rows.length < 20) return;
  const words = rows.map((row) => row.textContent.toLowerCase());
  const field = document.createElement("input");
  const count = document.createElement("p");
  field.type = "search";
  field.className = "rule-filter";
  field.placeholder = "Filter these rules: words of a name, a reason or an example";
  field.setAttribute("aria-label", field.placeholder);
  count.className = "rule-count";
  count.setAttribute("role", "status");
  const apply = () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !wanted.every((word) => words[i].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    document.querySelectorAll("article table").forEach((table) => {
      const empty = [...table.tBodies[0].rows].every((row) => row.hidden);
      const box = table.closest(".md-typeset__scrollwrap") || table;
      box.hidden = empty;
      let before = box.previousElementSibling; // its sentence, then its heading
      for (let i = 0; before && i < 2; i += 1, before = before.previousElementSibling) before.hidden = empty;
    });
    count.textContent = wanted.length ? `${shown} of ${rows.length} rules` : "";
  };
  field.addEventListener("input", apply);
  const title = document.querySelector("article h1");
  title.after(field, count);
}
addFilter();
