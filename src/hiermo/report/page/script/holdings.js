// Who holds what: a shaded table where it fits, else a picture.

const FEW_CLASSES = 20;
const FEW_ROWS = 60;

function holdingsTable(held) {
  const shade = (row, count) => (row.samples && count ? Math.min(0.75, 0.06 + (0.69 * count) / row.samples / Math.max(0.3, ...row.counts.map((each) => each / row.samples))) : 0);
  const rows = held.rows.map((row) => [row.name, row.samples, ...row.counts.map((count) => ({ text: count || "·", shade: shade(row, count) && shade(row, count).toFixed(2) }))]);
  const kinds = held.rows.map((row) => ({ all: "total", edge: "edge" })[row.kind] ?? "worker");
  return table(`Samples of each class. Shade: share of the row. ${held.note}`, ["holder", "samples", ...held.classes], rows, kinds);
}

function drawHoldings(host, held) {
  host.style.height = `${Math.min(900, 140 + 16 * held.rows.length)}px`;
  return draw(host, "Share of each class in what every worker or edge holds", [{
    type: "heatmap", colorscale: "Cividis", y: held.rows.map((row) => safe(row.name)), x: held.classes.map((_, k) => k),
    z: held.rows.map((row) => row.counts.map((count) => (100 * count) / Math.max(1, row.samples))),
    customdata: held.rows.map((row) => row.counts.map((count, k) => [safe(held.classes[k]), count])),
    hovertemplate: "%{y}, class %{customdata[0]}: %{customdata[1]} samples<extra></extra>",
    colorbar: { title: { text: "share (%)", side: "right" }, thickness: 14, outlinewidth: 0 },
  }], { xaxis: { title: { text: "class" } }, yaxis: { autorange: "reversed", type: "category" }, uirevision: "fixed" });
}

function holdingsPart(id, holdings, ui, redraw) {
  if (!holdings.shown.length) return [make("p", { class: "note" }, holdings.note)];
  const held = holdings.shown[Math.min(ui.held, holdings.shown.length - 1)];
  const options = holdings.shown.map((each, k) => ({ key: String(k), label: each.of }));
  const choice = options.length > 1 ? select(`${id}-held`, "Division of", options, String(ui.held), (key) => redraw(Number(key))) : make("p", { class: "note" }, `Division of ${held.of}.`);
  const small = held.classes.length <= FEW_CLASSES && held.rows.length <= FEW_ROWS;
  const picture = make("div", { class: "plot" });
  const words = table(holdings.caption, ["how different", "mean (range)", "meaning"], held.words.map(([name, value, meaning]) => [name, value, { text: meaning, is: "words" }]));
  if (!small) requestAnimationFrame(() => drawHoldings(picture, held));
  return [choice, small ? holdingsTable(held) : picture, small ? null : make("p", { class: "note" }, held.note), held.words.length ? make("p") : null, held.words.length ? words : null, holdings.note ? make("p", { class: "note" }, holdings.note) : null];
}
