// How long series take to reach a target, and what they send over which links.

const barHeight = (n) => 74 + 30 * Math.max(1, n);

// Where each run first meets the target: [reached, of how many, values on an axis].
function reaching(series, metric, target, axis) {
  const tried = series.runs.filter((run) => run.points.iteration.length);
  const found = [];
  for (const { points } of tried) {
    const at = points[metric.key].findIndex((each) => each !== null && (metric.falls ? each <= target : each >= target));
    if (at >= 0 && points[axis]?.[at] !== null) found.push(points[axis][at]);
  }
  return { reached: found.length, of: tried.length, values: found };
}

function drawTimes(hosts, experiment, ui) {
  const metric = experiment.metrics.find((each) => each.key === ui.goal) ?? experiment.metrics[0];
  const axis = experiment.axes.find((each) => each.key === ui.cost) ?? experiment.axes[0];
  const visible = experiment.series.map((series, k) => ({ series, k })).filter(({ series }) => !ui.hidden.has(series.name));
  const rows = visible.map((each) => ({ ...each, ...reaching(each.series, metric, ui.target, axis.key) }));
  const there = rows.filter((each) => each.reached).sort((a, b) => mean(b.values) - mean(a.values));
  const goal = `${metric.label} ${metric.falls ? "≤" : "≥"} ${shown(metric.key, ui.target)}`;
  hosts.plot.style.height = `${barHeight(there.length)}px`;
  hosts.plot.hidden = !there.length;
  if (there.length) {
    draw(hosts.plot, `${axis.label} until ${goal}; the numbers are in the table below.`, [{
      type: "bar", orientation: "h",
      x: there.map((each) => mean(each.values)), y: there.map((_, row) => row),
      error_x: { type: "data", array: there.map((each) => deviation(each.values)), visible: there.some((each) => each.reached > 1), thickness: 1.5, color: isDark() ? "#fff" : "#222" },
      marker: { color: there.map((each) => lookOf(each.k).colour) },
      text: there.map((each) => `\u00a0\u00a0${shown(axis.key, mean(each.values))}`), textposition: "auto", insidetextanchor: "start", constraintext: "none",
      insidetextfont: { color: isDark() ? "#111" : "#fff" },
      customdata: there.map((each) => [safe(each.series.name), `${each.reached} of ${each.of} seeds`]),
      hovertemplate: "%{customdata[0]}: %{x:,.5~g} (%{customdata[1]})<extra></extra>",
    }], {
      uirevision: "fixed", bargap: 0.28,
      xaxis: { title: { text: axisTitle(axis) }, rangemode: "tozero", ...axisLook(axis.key) },
      yaxis: { tickvals: there.map((_, row) => row), ticktext: there.map((each) => safe(each.series.name, isNarrow() ? 22 : 34)), fixedrange: true },
    });
  }
  const going = (each) => each.series.runs.some((run) => run.state === "running" || run.state === "new");
  const missed = rows.filter((each) => !each.reached);
  const never = missed.filter((each) => !going(each)).map((each) => each.series.name);
  const yet = missed.filter(going).map((each) => each.series.name);
  const some = rows.filter((each) => each.reached && each.reached < each.of);
  const told = [
    never.length ? `Never reached by ${never.join(", ")}.` : "",
    yet.length ? `Not reached yet by ${yet.join(", ")}.` : "",
    some.length ? `Means are over the seeds that reached it: ${some.map((each) => `${each.series.name} ${each.reached} of ${each.of}`).join(", ")}.` : "",
  ];
  hosts.words.textContent = told.filter(Boolean).join(" ");
  const cells = [...there].reverse().concat(rows.filter((each) => !each.reached)).map((each) => [
    each.series.name,
    `${each.reached} of ${each.of}`,
    each.reached ? { text: shown(axis.key, mean(each.values)), small: each.reached > 1 ? spread(axis.key, deviation(each.values), mean(each.values)) : "" } : going(each) ? "not yet" : "not reached",
  ]);
  part(hosts.table, [goal, axis.label, cells], () => [folded(`${experiment.id}-time-table`, "As a table", table(`${axis.label} until ${goal}`, ["series", "seeds that reach it", "mean"], cells))]);
}

function drawBytes(hosts, experiment, ui) {
  const visible = experiment.series.filter((series) => !ui.hidden.has(series.name));
  const rows = visible.map((series) => ({ series, runs: series.runs.filter((run) => Object.keys(run.bytes).length) })).filter(({ runs }) => runs.length).reverse();
  const per = ({ runs }, link) => mean(runs.map((run) => run.bytes[link] ?? 0));
  hosts.plot.hidden = !rows.length;
  hosts.words.textContent = rows.length ? "" : "No run that is shown has finished yet: bytes per link are known at the end.";
  if (!rows.length) return part(hosts.table, [], () => []);
  hosts.plot.style.height = `${barHeight(rows.length) + 26}px`;
  draw(hosts.plot, "Bytes sent per kind of link, up and down together; the numbers are in the table below.", experiment.links.map((link, k) => ({
    type: "bar", orientation: "h", name: safe(link), x: rows.map((row) => per(row, link)), y: rows.map((_, row) => row),
    marker: { color: lookOf([0, 4, 2, 3, 5, 1][k % 6]).colour, pattern: { shape: ["", "/", "x", ".", "-", "+"][k % 6], fillmode: "overlay", fgcolor: isDark() ? "#111" : "#fff", fgopacity: 0.8, solidity: 0.2, size: 9 } },
    customdata: rows.map(({ series }) => safe(series.name)),
    hovertemplate: "%{customdata}: %{x:.4~s}B<extra>%{fullData.name}</extra>",
  })), {
    barmode: "stack", bargap: 0.28, showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, uirevision: "fixed",
    margin: { l: 60, r: 16, t: 34, b: 50 },
    xaxis: { title: { text: "bytes of a whole run" }, ...axisLook("bytes") },
    yaxis: { tickvals: rows.map((_, row) => row), ticktext: rows.map(({ series }) => safe(series.name, isNarrow() ? 22 : 34)), fixedrange: true },
  });
  const cells = [...rows].reverse().map((row) => [row.series.name, ...experiment.links.map((link) => bytes(per(row, link))), bytes(experiment.links.reduce((sum, link) => sum + per(row, link), 0))]);
  part(hosts.table, cells, () => [folded(`${experiment.id}-bytes-table`, "As a table", table("Bytes of a whole run, mean over its finished seeds", ["series", ...experiment.links, "all"], cells))]);
}
