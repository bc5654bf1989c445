// One experiment: its parts in their order, and what is chosen in it.

const MANY = 12; // series: of more, the best are shown at first
const SHOWN_OF_MANY = 8;
const FEW_METRICS = 5; // that are worth a button each

function firstChoice(experiment, until) {
  const goal = Object.keys(until).find((key) => experiment.metrics.some((each) => each.key === key));
  const target = goal ? { metric: goal, value: until[goal] } : experiment.target;
  const timed = experiment.axes.some((each) => each.key === "simulated_seconds");
  const hidden = new Set();
  if (experiment.series.length > MANY) {
    const rank = (row) => row.cells.accuracy?.mean ?? -1e9;
    const best = [...experiment.table.rows].sort((a, b) => rank(b) - rank(a)).slice(0, SHOWN_OF_MANY).map((row) => row.name);
    for (const { name } of experiment.series) if (!best.includes(name)) hidden.add(name);
  }
  return {
    axis: "iteration", metric: experiment.metrics[0]?.key, band: "deviation", seeds: false, log: false, hidden, held: 0,
    goal: target?.metric, target: target?.value, typed: false, cost: timed ? "simulated_seconds" : "iteration", why: goal ? "asked for" : experiment.target?.why,
  };
}

const PARTS = [
  ["table", "Results"], ["curves", "Curves"], ["times", "Time to a target"], ["bytes", "Bytes per link"], ["heat", "tau and pi"],
  ["holdings", "Who holds what"], ["tree", "The tree and its delays"], ["published", "Beside the published numbers"], ["runs", "Runs"], ["recipes", "Recipes and provenance"],
];

class Section {
  constructor(experiment, until) {
    this.ui = firstChoice(experiment, until);
    this.until = until;
    this.hosts = {};
    this.id = experiment.id;
    this.element = make("section", { class: "experiment", id: this.id, "aria-labelledby": `${this.id}-title` });
    this.title = make("h2", { id: `${this.id}-title` });
    this.words = make("p");
    this.element.append(this.title, this.words);
    for (const [key, label] of PARTS) {
      const host = make("div");
      const heading = make("h3", { id: `${this.id}-${key}` }, label);
      this.hosts[key] = { heading, host, plots: [] };
      this.element.append(heading, host);
    }
    this.bars = { times: Section.barHosts(), bytes: Section.barHosts() };
    this.plot = make("div", { class: "plot", id: `${this.id}-plot` });
    this.controls = make("div");
    this.names = make("div");
    this.thinned = make("p", { class: "note" });
    this.hosts.curves.host.append(this.controls, this.names, this.plot, this.thinned);
    this.goalControls = make("div");
    this.hosts.times.host.append(this.goalControls, ...Object.values(this.bars.times));
    this.hosts.bytes.host.append(...Object.values(this.bars.bytes));
  }

  static barHosts() {
    return { plot: make("div", { class: "plot small" }), words: make("p", { class: "note" }), table: make("div") };
  }

  // What has something to show, for the table of contents.
  parts() {
    return PARTS.filter(([key]) => !this.hosts[key].host.hidden);
  }

  show(key, there) {
    this.hosts[key].heading.hidden = this.hosts[key].host.hidden = !there;
    return there;
  }

  update(experiment, stride) {
    this.experiment = experiment;
    const { ui, id } = this;
    const asked = firstChoice(experiment, this.until); // while runs go on, what all of them reach changes
    if (!ui.typed && asked.target !== undefined) Object.assign(ui, { goal: asked.goal, target: asked.target, why: asked.why });
    if (!experiment.metrics.some((each) => each.key === ui.metric)) ui.metric = experiment.metrics[0]?.key;
    this.title.textContent = experiment.title;
    this.words.textContent = experiment.words;
    const curves = experiment.metrics.length > 0;
    if (this.show("table", experiment.table.rows.length)) part(this.hosts.table.host, [experiment.table, experiment.all_series], ([data, all]) => this.results(data, all));
    this.show("curves", curves);
    this.show("times", curves && ui.target !== undefined);
    this.show("bytes", experiment.links.length);
    this.thinned.textContent = stride > 1 ? `Curves show every ${stride}th evaluation and the last one: times to a target are read off what is shown.` : "";
    if (this.show("heat", experiment.heat.length)) part(this.hosts.heat.host, experiment.heat, (maps) => this.heat(maps));
    if (this.show("holdings", experiment.holdings)) this.holdings();
    if (this.show("tree", experiment.tree)) part(this.hosts.tree.host, [experiment.tree, experiment.delays_differ], ([tree, differ]) => treePart(id, tree, differ));
    if (this.show("published", experiment.published)) part(this.hosts.published.host, experiment.published, publishedPart);
    if (this.show("runs", experiment.runs.length)) part(this.hosts.runs.host, experiment.runs, (runs) => runsPart(id, runs));
    if (this.show("recipes", experiment.recipes.length)) part(this.hosts.recipes.host, [experiment.recipes, experiment.runs], ([recipes, runs]) => recipesPart(id, recipes, runs, experiment.series.length));
    this.choices();
    this.redraw();
  }

  choices() {
    const { experiment, ui, id } = this;
    const set = (key) => (value) => { ui[key] = value; this.choices(); this.redraw(); };
    const loss = !experiment.metrics.find((each) => each.key === ui.metric)?.share;
    const several = experiment.series.some((each) => each.runs.length > 1);
    part(this.controls, [experiment.axes, experiment.metrics, loss, several], () => [
      make("div", { class: "controls" },
        radios(`${id}-axis`, "Over", experiment.axes.map((each) => ({ key: each.key, label: AXIS_NAMES[each.key] ?? each.label })), ui.axis, set("axis")),
        this.metricChoice(set("metric"))),
      make("div", { class: "controls" },
        several ? radios(`${id}-band`, "Band over seeds", BANDS, ui.band, set("band")) : null,
        make("div", { class: "choices" },
          several ? checkbox(`${id}-seeds`, "every seed", ui.seeds, set("seeds")) : null,
          loss ? checkbox(`${id}-log`, "logarithmic", ui.log, set("log")) : null)),
    ]);
    part(this.names, [experiment.series.map((each) => each.name), [...ui.hidden], isDark()], ([names]) => this.checkboxes(names));
    const goals = experiment.metrics;
    const metric = goals.find((each) => each.key === ui.goal);
    if (metric) part(this.goalControls, [goals, experiment.axes, ui.goal], () => this.goal(goals, metric, set));
    const box = document.getElementById(`${id}-target`);
    if (box && !ui.typed) box.value = Number(((metric?.share ? 100 : 1) * ui.target).toPrecision(6));
  }

  metricChoice(set) {
    const { experiment: { metrics }, ui, id } = this;
    if (metrics.length < 2) return null;
    return metrics.length > FEW_METRICS ? select(`${id}-metric`, "Shown", metrics, ui.metric, set) : radios(`${id}-metric`, "Shown", metrics, ui.metric, set);
  }

  checkboxes(names) {
    const { ui, id } = this;
    const toggle = (name) => (on) => { ui.hidden[on ? "delete" : "add"](name); this.choices(); this.redraw(); };
    const boxes = names.map((name, k) => {
      const label = checkbox(`${id}-series-${k}`, make("span", { class: "name", title: name }, name), !ui.hidden.has(name), toggle(name));
      label.firstChild.after(swatch(k));
      return label;
    });
    const all = (on) => () => { ui.hidden = new Set(on ? [] : names); this.choices(); this.redraw(); };
    const buttons = names.length > 2 ? [make("button", { type: "button", id: `${id}-all`, onclick: all(true) }, "all"), " ", make("button", { type: "button", id: `${id}-none`, onclick: all(false) }, "none")] : [];
    const note = names.length > MANY ? make("span", { class: "note" }, ` ${names.length - ui.hidden.size} of ${names.length} series are shown`) : null;
    return [make("fieldset", {}, make("legend", {}, "Series"), make("div", { class: "series" }, ...boxes)), make("div", { class: "choices" }, ...buttons, note)];
  }

  goal(goals, metric, set) {
    const { ui, id, experiment } = this;
    const scale = metric.share ? 100 : 1;
    const input = make("input", { type: "number", id: `${id}-target`, step: metric.share ? 0.5 : "any", min: 0, ...(metric.share ? { max: 100 } : {}), value: Number((scale * ui.target).toPrecision(6)) });
    input.addEventListener("input", () => { if (input.value !== "" && Number.isFinite(input.valueAsNumber)) { ui.target = input.valueAsNumber / scale; ui.typed = true; this.redraw(); } });
    const field = make("div", {}, make("label", { for: `${id}-target`, class: "note" }, `${metric.falls ? "at most" : "at least"}${metric.share ? " (%)" : ""} `), input);
    const change = (key) => {
      const last = experiment.table.rows.map((row) => row.cells[key]?.mean).filter((each) => each !== null && each !== undefined);
      const next = goals.find((each) => each.key === key);
      if (last.length) ui.target = next.falls ? Math.max(...last) : Math.min(...last);
      ui.typed = true;
      set("goal")(key);
    };
    return [
      make("div", { class: "controls" },
        goals.length > 1 ? select(`${id}-goal`, "until", goals, ui.goal, change) : make("span", {}, `until ${metric.label}`), field,
        select(`${id}-cost`, "told in", experiment.axes.map((each) => ({ key: each.key, label: AXIS_NAMES[each.key] ?? each.label })), ui.cost, set("cost"))),
      ui.why ? make("p", { class: "note" }, `At first the target is ${ui.why}; type another. Lines at the bars: ± standard deviation over seeds.`) : null,
    ];
  }

  results({ columns, rows }, all) {
    const cells = rows.map((row) => [
      row.name,
      { text: row.n === row.of ? `${row.n}` : `${row.n} of ${row.of}`, small: row.failed ? `${row.failed} failed` : "" },
      ...columns.map(({ key }) => {
        const { mean: value, deviation: by, best } = row.cells[key];
        return { text: shown(key, value), small: spread(key, by, value), best, is: row.so_far ? "so-far" : "" };
      }),
    ]);
    const waits = rows.some((row) => row.so_far);
    const caption = `Mean ± standard deviation over the seeds that finished. Bold: the best mean.${waits ? " In italics: so far, of runs that have not finished." : ""} Simulated and sent are of the network, took is of the machine.`;
    const left = all > rows.length ? make("p", { class: "note" }, `The best ${rows.length} of ${all} series are on this page; heat maps and counts are of all.`) : null;
    return [left, table(caption, ["series", "seeds", ...columns.map((each) => each.label)], cells)];
  }

  heat(maps) {
    return [make("div", { class: "two" }, ...maps.map((map, k) => {
      const host = make("div", { class: "plot heat" });
      this.hosts.heat.plots[k] = [host, map];
      requestAnimationFrame(() => drawHeat(host, map));
      return make("div", {}, make("h4", {}, map.title), host, ...heatTable(`${this.id}-heat-${k}`, map));
    }))];
  }

  holdings() {
    part(this.hosts.holdings.host, [this.experiment.holdings, this.ui.held], () =>
      holdingsPart(this.id, this.experiment.holdings, this.ui, (k) => { this.ui.held = k; this.holdings(); }));
  }

  redraw() {
    const { experiment, ui, hosts } = this;
    if (!hosts.curves.host.hidden) drawCurves(this.plot, experiment, ui);
    if (!hosts.times.host.hidden) drawTimes(this.bars.times, experiment, ui);
    if (!hosts.bytes.host.hidden) drawBytes(this.bars.bytes, experiment, ui);
  }

  // After a change of theme.
  repaint() {
    this.choices();
    this.redraw();
    for (const [host, map] of this.hosts.heat.plots) drawHeat(host, map);
    if (!this.hosts.holdings.host.hidden && this.hosts.holdings.host.querySelector(".plot")) {
      this.hosts.holdings.host.told = null;
      this.holdings();
    }
  }
}

function publishedPart(published) {
  const rows = published.rows.map((row) => [
    row.name,
    `${row.published.toFixed(2)} %`,
    { text: `${row.measured.toFixed(2)} %`, small: `${row.deviation === null ? "" : `± ${row.deviation.toFixed(2)}, `}n = ${row.n}` },
    `${row.measured >= row.published ? "+" : "−"}${Math.abs(row.measured - row.published).toFixed(2)}`,
    { text: row.differs || "nothing that the recipe says", is: "words" },
  ]);
  return [table(`Measured: test accuracy. Published: ${published.source}, the column that the recipe ${published.recipe} stands for; it does not say whether it is of test or training data.`, ["series", "published", "measured here", "difference (points)", "differs from that recipe in"], rows)];
}

function stateCell(run) {
  const at = run.iteration !== null && run.of ? ` at ${run.iteration.toLocaleString("en")} of ${run.of.toLocaleString("en")}` : "";
  return { text: run.state === "finished" ? run.state : `${run.state === "new" ? "not begun" : run.state}${at}`, is: `words state-${run.state}` };
}

function runsPart(id, runs) {
  const open = runs.filter((run) => run.state !== "finished");
  const broken = runs.some((run) => run.error !== null);
  const words = (text) => ({ text: text ?? "", is: "words" });
  const row = (run) => [run.series, run.seed, stateCell(run), ...(broken ? [words(run.error)] : []), words(run.path)];
  const heads = ["series", "seed", "state", ...(broken ? ["error"] : []), "folder"];
  return [
    open.length ? table("Runs that have not finished", heads, open.map(row)) : make("p", { class: "note" }, "All runs have finished."),
    folded(`${id}-runs-all`, `${runs.length} runs`, table("Runs", heads, runs.map(row))),
  ];
}

function recipesPart(id, recipes, runs, n) {
  const facts = ["date", "hiermo", "commit", "python", "torch", "machine", "threads", "model_sha256"];
  const rows = runs.map((run) => [run.series, run.seed, ...facts.map((key) => run[key])]);
  const left = n > recipes.length ? make("p", { class: "note" }, `The first ${recipes.length} of ${n} recipes are here; the others lie in the run directories.`) : null;
  const each = recipes.map((recipe, k) => folded(`${id}-recipe-${k}`, `Recipe of ${recipe.name}`, make("pre", { tabindex: 0 }, recipe.text)));
  return [
    ...(each.length > 3 ? [folded(`${id}-recipes-all`, `${each.length} recipes`, ...each)] : each),
    left,
    folded(`${id}-provenance`, "Provenance", table("With what the runs were made", ["series", "seed", ...facts.map((key) => key.replace("_", " "))], rows)),
  ];
}
