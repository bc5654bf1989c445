// The page: from data to sections, and while it is live from newer data to what has changed.

const sections = new Map();
const main = document.getElementById("main");
const ending = make("section", { class: "experiment", id: "end", "aria-label": "References and what could not be read" });

function apply(data) {
  document.title = data.title;
  document.getElementById("title").textContent = data.title;
  document.getElementById("words").textContent = data.words;
  main.querySelector("noscript")?.remove();
  for (const experiment of data.experiments) {
    if (!sections.has(experiment.id)) {
      const made = new Section(experiment, data.until);
      sections.set(experiment.id, made);
      main.append(made.element);
    }
    sections.get(experiment.id).update(experiment, data.thinned);
  }
  for (const [id, section] of sections) {
    if (data.experiments.some((each) => each.id === id)) continue;
    section.element.remove();
    sections.delete(id);
  }
  main.append(ending);
  part(ending, [data.bibtex, data.not_ours, data.unreadable], endPart);
  part(document.getElementById("contents"), contents(data), contentsPart);
  document.getElementById("foot").textContent = `Made by hiermo ${data.version}, ${data.made.replace("T", " ").replace("+00:00", " UTC")}. Figures can be zoomed by dragging; a double click shows all again.`;
}

function contents(data) {
  const listed = data.experiments.map((each) => ({ id: each.id, label: data.experiments.length > 1 ? each.title : "Overview", parts: sections.get(each.id).parts() }));
  return [...listed, { id: "end", label: "BibTeX", parts: [] }];
}

function contentsPart(listed) {
  const link = (id, label) => make("a", { href: `#${id}` }, label);
  return [make("ul", {}, ...listed.map(({ id, label, parts }) => make("li", {}, link(id, label), parts.length ? make("ul", {}, ...parts.map(([key, text]) => make("li", {}, link(`${id}-${key}`, text)))) : null)))];
}

function endPart([bibtex, notOurs, unreadable]) {
  return [
    make("h2", {}, "BibTeX"),
    make("p", { class: "note" }, `Of what these runs used.${notOurs.length ? ` Not ours, and not here: ${notOurs.join(", ")}.` : ""}`),
    folded("bibtex", "Entries", make("pre", { tabindex: 0 }, bibtex)),
    unreadable.length ? make("h2", { id: "unreadable" }, "What could not be read") : null,
    unreadable.length ? table("Folders that are not shown", ["folder", "why"], unreadable.map((each) => [each.path, { text: each.why, is: "words" }])) : null,
  ];
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.getElementById("theme");
let ownTheme = false;

function theme(name) {
  document.documentElement.dataset.theme = name;
  themeButton.textContent = name === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to ${name === "dark" ? "light" : "dark"} colours`);
  for (const section of sections.values()) section.repaint();
}

themeButton.addEventListener("click", () => {
  ownTheme = true;
  theme(isDark() ? "light" : "dark");
});
dark.addEventListener("change", () => ownTheme || theme(dark.matches ? "dark" : "light"));

const EVERY_MS = 1500;
const live = document.getElementById("live");

function follow() {
  let tag = null;
  let changed = Date.now();
  let missed = 0;
  live.hidden = false;
  const tell = () => { live.textContent = `live: updated ${Math.round((Date.now() - changed) / 1000)} s ago`; };
  const clock = setInterval(tell, 1000);
  tell();
  async function ask() {
    try {
      const answer = await fetch("data.json", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
      missed = 0;
      if (answer.status === 200) {
        const data = await answer.json();
        if (tag !== null) changed = Date.now();
        tag = answer.headers.get("ETag");
        apply(data);
        tell();
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // what fetch says where nobody answers
      missed += 1;
    }
    if (missed < 3) return setTimeout(ask, EVERY_MS);
    clearInterval(clock);
    live.setAttribute("role", "status");
    live.classList.add("gone");
    live.textContent = "the server has stopped; what is shown stays";
  }
  setTimeout(ask, EVERY_MS);
}

const first = JSON.parse(document.getElementById("data").textContent);
theme(dark.matches ? "dark" : "light");
apply(first);
if (first.live) follow();
