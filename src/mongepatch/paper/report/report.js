"use strict";

// Tables sort by the column whose button is pressed: up, and down when it is pressed again. What is missing stays last.
const collator = new Intl.Collator("en", { numeric: true });

function keyOf(cell, numeric) {
  if (cell.classList.contains("missing")) return null;
  if (!numeric) return cell.textContent;
  return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
}

function sort(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const numeric = head.classList.contains("number");
  const down = head.getAttribute("aria-sort") === "ascending";
  const compare = (a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    const order = numeric ? (a.key > b.key) - (a.key < b.key) : collator.compare(a.key, b.key);
    return down ? -order : order;
  };
  const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row.cells[head.cellIndex], numeric) }));
  body.append(...rows.sort(compare).map(({ row }) => row));
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}

for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sort(button.closest("th")));
}

// On paper nothing can be opened.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
