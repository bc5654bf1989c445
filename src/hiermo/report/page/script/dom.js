// Elements out of data. Text goes in as text nodes only: nothing that a run is called can become markup.

const LONG = 36; // characters of a name that is broken into lines
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map(asNode));
  return made;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

function makeSvg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children.map(asNode));
  return made;
}

// A table in a box of its own, which scrolls where the screen is narrow. A cell is a text or {text, small, best, is}.
function table(caption, heads, rows, kinds = []) {
  const isWords = (column) => rows.length && rows[0][column]?.is?.startsWith("words");
  const head = make("tr", {}, ...heads.map((each, column) => make("th", { scope: "col", class: isWords(column) ? "words" : null }, each)));
  const body = rows.map((row, k) =>
    make("tr", { class: kinds[k] }, ...row.map((cell, column) => (column ? dataCell(cell) : make("th", { scope: "row", class: String(cell).length > LONG ? "long" : null }, cell)))),
  );
  const whole = make("table", {}, make("caption", {}, make("span", {}, caption)), make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, whole);
}

function dataCell(cell) {
  if (cell === null || typeof cell !== "object") return make("td", {}, cell ?? "");
  const classes = [cell.best && "best", cell.is].filter(Boolean).join(" ");
  const made = make("td", { class: classes || null }, cell.best ? make("strong", {}, cell.text) : cell.text);
  if (cell.small) made.append(" ", make("small", {}, cell.small));
  if (cell.shade) made.style.backgroundColor = `rgba(var(--shade), ${cell.shade})`;
  return made;
}

// One of several, as radio buttons: arrow keys move among them.
function radios(id, legend, options, chosen, onchange) {
  const labels = options.map(({ key, label }) => {
    const own = `${id}-${key}`;
    const input = make("input", { type: "radio", name: id, id: own, value: key, onchange: () => onchange(key) });
    input.checked = key === chosen;
    return make("label", { for: own }, input, label);
  });
  return make("fieldset", {}, make("legend", {}, legend), make("div", { class: "choices" }, ...labels));
}

function checkbox(id, label, checked, onchange) {
  const input = make("input", { type: "checkbox", id });
  input.checked = checked;
  input.addEventListener("change", () => onchange(input.checked));
  return make("label", { for: id }, input, label);
}

function select(id, label, options, chosen, onchange) {
  const made = make("select", { id });
  for (const { key, label: text } of options) made.append(make("option", { value: key }, text));
  made.value = chosen;
  made.addEventListener("change", () => onchange(made.value));
  return make("div", {}, make("label", { for: id, class: "note" }, label, " "), made);
}

// Builds what is inside `host` anew where its data has changed; focus, and what was unfolded, stay.
function part(host, data, build) {
  const told = JSON.stringify(data);
  if (host.dataset.built === "yes" && host.told === told) return;
  host.told = told;
  const focused = host.contains(document.activeElement) ? document.activeElement.id : null;
  const unfolded = new Set([...host.querySelectorAll("details[open]")].map((each) => each.id));
  const scrolled = [...host.querySelectorAll(".scroll, .series, pre")].map((each) => [each.scrollLeft, each.scrollTop]);
  host.replaceChildren(...build(data).filter(Boolean));
  host.dataset.built = "yes";
  for (const each of host.querySelectorAll("details")) if (unfolded.has(each.id)) each.open = true;
  [...host.querySelectorAll(".scroll, .series, pre")].forEach((each, k) => scrolled[k] && each.scrollTo(...scrolled[k]));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function folded(id, summary, ...children) {
  return make("details", { id }, make("summary", {}, summary), ...children);
}
