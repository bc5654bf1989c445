// What was measured over iterations, cloud rounds, seconds or bytes: a line per series, with a band over its seeds.

const BANDS = [
  { key: "deviation", label: "± standard deviation" },
  { key: "range", label: "least to most" },
  { key: "none", label: "none" },
];

// The seeds of a series, taken together at the same iteration; those that failed are left out unless all did.
function together(series, axis, metric) {
  const alive = series.runs.filter((run) => run.state !== "failed");
  const at = new Map();
  for (const run of alive.length ? alive : series.runs) {
    const { points } = run;
    points.iteration.forEach((iteration, k) => {
      const [x, y] = [points[axis]?.[k], points[metric]?.[k]];
      if (x === null || x === undefined || y === null || y === undefined) return;
      if (!at.has(iteration)) at.set(iteration, { x: [], y: [] });
      at.get(iteration).x.push(x);
      at.get(iteration).y.push(y);
    });
  }
  return [...at.entries()].sort((a, b) => a[0] - b[0]).map(([, each]) => each);
}

function curveTraces(series, k, ui, metric) {
  const scale = metric.share ? 100 : 1;
  const { colour, dash, mark } = lookOf(k);
  const joined = together(series, ui.axis, metric.key);
  const x = joined.map((each) => mean(each.x));
  const y = joined.map((each) => scale * mean(each.y));
  const traces = [];
  const several = joined.some((each) => each.y.length > 1);
  if (several && ui.band !== "none") {
    const ends = joined.map((each) => {
      if (ui.band === "range") return [scale * Math.min(...each.y), scale * Math.max(...each.y)];
      return [scale * (mean(each.y) - deviation(each.y)), scale * (mean(each.y) + deviation(each.y))];
    });
    traces.push({
      x: [...x, ...[...x].reverse()],
      y: [...ends.map((each) => each[1]), ...ends.map((each) => each[0]).reverse()],
      fill: "toself", fillcolor: faded(colour, 0.16), line: { width: 0 }, mode: "lines", hoverinfo: "skip", uid: `band${k}`,
    });
  }
  if (ui.seeds) {
    for (const [at, run] of series.runs.entries()) {
      traces.push({
        x: run.points[ui.axis], y: run.points[metric.key].map((each) => (each === null ? null : scale * each)),
        mode: "lines", line: { color: faded(colour, 0.55), width: 1 }, name: `${safe(series.name)}, seed ${safe(run.seed)}`,
        hovertemplate: `%{y:.4g}${metric.share ? " %" : ""}<extra>%{fullData.name}</extra>`, uid: `seed${k}n${at}`,
      });
    }
  }
  const every = Math.max(1, Math.ceil(x.length / 14));
  traces.push({
    x, y, mode: "lines+markers", name: safe(series.name), uid: `mean${k}`,
    line: { color: colour, width: 2.2, dash },
    marker: { color: colour, symbol: mark, size: x.map((_, i) => ((i + k) % every && i !== x.length - 1 ? 0 : 8)) },
    customdata: joined.map((each) => [several ? `± ${(scale * deviation(each.y)).toPrecision(2)}, n = ${each.y.length}` : ""]),
    hovertemplate: `%{x:,.6~g}: <b>%{y:.4~g}${metric.share ? " %" : ""}</b> %{customdata[0]}<extra>%{fullData.name}</extra>`,
  });
  return traces;
}

function axisTitle(axis) {
  return isNarrow() ? AXIS_NAMES[axis.key] ?? axis.label : axis.label;
}

function axisLook(key) {
  if (key === "bytes") return { tickformat: "~s", ticksuffix: "B" };
  return key.endsWith("seconds") ? { ticksuffix: " s" } : {};
}

function drawCurves(host, experiment, ui) {
  const axis = experiment.axes.find((each) => each.key === ui.axis) ?? experiment.axes[0];
  const metric = experiment.metrics.find((each) => each.key === ui.metric) ?? experiment.metrics[0];
  const visible = experiment.series.map((series, k) => [series, k]).filter(([series]) => !ui.hidden.has(series.name));
  const traces = visible.flatMap(([series, k]) => curveTraces(series, k, { ...ui, axis: axis.key }, metric));
  const names = visible.map(([series]) => series.name).join(", ") || "no series";
  const log = ui.log && !metric.share;
  return draw(host, `${metric.label} over ${axis.label}: ${names}. The last values are in the table above.`, traces, {
    uirevision: `${axis.key} ${metric.key} ${log}`,
    hovermode: "closest",
    xaxis: { title: { text: axisTitle(axis) }, rangemode: "tozero", ...axisLook(axis.key) },
    yaxis: { title: { text: metric.label + (metric.share ? " (%)" : "") }, type: log ? "log" : "linear" },
  });
}
