const form = document.querySelector(".sort"), keys = form.querySelector("select");
const table = document.querySelector("table"), body = table.tBodies[0];
let direction = 1;
function sort() {
  const [column, field] = keys.value.split(" ");
  const value = row => row.cells[column].dataset[field];
  const compare = (a, b) => {
    const [one, other] = [value(a), value(b)];
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    return direction * (field in { name: 1, cpu: 1, kernel: 1, date: 1 }
      ? one.localeCompare(other, "en", { numeric: true }) : one - other);
  };
  body.append(...[...body.rows].sort(compare));
  for (const [index, head] of [...table.tHead.rows[0].cells].entries()) {
    if (index == column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}
keys.onchange = sort;
form.querySelector("button").onclick = () => { direction = -direction; sort(); };
form.hidden = false;
