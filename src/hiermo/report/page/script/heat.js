// Heat maps over tau and pi, with the chosen pairs as crosses. Axes are the places in the lists: values are far apart.

function placeOf(value, line) {
  if (line.length === 1) return 0;
  let k = 0;
  while (k < line.length - 2 && value > line[k + 1]) k += 1;
  const share = (Math.log(value) - Math.log(line[k])) / (Math.log(line[k + 1]) - Math.log(line[k]));
  return Math.min(line.length - 0.6, Math.max(-0.4, k + share));
}

function ticks(line, most = 8) {
  const every = Math.ceil(line.length / most);
  const at = line.map((_, k) => k).filter((k) => k % every === 0);
  return { tickvals: at, ticktext: at.map((k) => String(line[k])) };
}

function drawHeat(host, map) {
  const bound = map.kind === "bound";
  const words = `${map.title}: ${map.unit} over tau and pi${map.marks.map((mark) => `; ${mark.name}: tau ${mark.tau}, pi ${mark.pi}`).join("")}. The numbers are in the table below.`;
  const crosses = (pis) => map.marks.map((mark) => ({
    x: [placeOf(mark.tau, map.taus)], y: [pis ? placeOf(mark.pi, pis) : 0], mode: "markers", name: safe(mark.name, 60),
    marker: { symbol: mark.own ? "x" : "circle", size: mark.own ? 15 : 11, color: mark.own ? "#D55E00" : "#fff", line: { color: mark.own ? "#fff" : "#000", width: 2 } },
    hovertemplate: `tau ${mark.tau}${pis ? `, pi ${mark.pi}` : ""}<extra>%{fullData.name}</extra>`,
  }));
  const legend = { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, margin: { l: 60, r: 16, t: 40, b: 50 }, uirevision: "fixed" };
  const xaxis = { title: { text: isNarrow() ? "tau" : "tau (iterations between edge merges)" }, ...ticks(map.taus), showgrid: false, zeroline: false };
  if (!map.pis.length) { // two tiers: a curve
    return draw(host, words, [{ x: map.taus.map((_, k) => k), y: map.z[0], mode: "lines", name: safe(map.unit), line: { color: lookOf(0).colour } }, ...crosses(null)],
      { ...legend, xaxis: { ...xaxis, title: { text: isNarrow() ? "tau" : "tau (iterations between cloud merges)" } }, yaxis: { title: { text: map.unit } } });
  }
  const z = bound ? map.z.map((row) => row.map((each) => (each === null ? null : Math.asinh(Math.min(each, 200) / 3)))) : map.z;
  const marked = [0, 1, 2, 5, 10, 20, 50, 100, 200];
  const few = map.taus.length * map.pis.length <= 60 && !isNarrow();
  const flat = map.z.flat().filter((each) => each !== null);
  const top = Math.max(...flat);
  const least = Math.min(...flat);
  const low = map.better === "more" ? Math.min(Math.max(least, top - 15), top - 5) : least; // 5 points at least: tenths of one are no contrast
  const surface = {
    type: "heatmap", x: map.taus.map((_, k) => k), y: map.pis.map((_, k) => k), z, colorscale: "Cividis", reversescale: map.better === "less",
    customdata: map.z.map((row, j) => row.map((each, i) => [map.taus[i], map.pis[j], each])), hoverongaps: false, showlegend: false,
    hovertemplate: `tau %{customdata[0]}, pi %{customdata[1]}: %{customdata[2]:.4~g}<extra></extra>`,
    colorbar: { title: { text: map.unit, side: "right" }, thickness: 14, outlinewidth: 0, ...(bound ? { tickvals: marked.map((each) => Math.asinh(each / 3)), ticktext: marked.map(String) } : {}) },
    ...(bound ? { zmin: 0, zmax: Math.asinh(200 / 3) } : { zmin: low, zmax: top, xgap: 2, ygap: 2 }),
    ...(few && !bound ? { texttemplate: "%{z:.2f}" } : {}),
  };
  const star = map.best ? [{
    x: [placeOf(map.best.tau, map.taus)], y: [placeOf(map.best.pi, map.pis) + (few ? 0.27 : 0)], mode: "markers", name: "best of the grid",
    marker: { symbol: "star", size: 14, color: "#fff", line: { color: "#000", width: 1.2 } }, hovertemplate: `tau ${map.best.tau}, pi ${map.best.pi}<extra>best of the grid</extra>`,
  }] : [];
  return draw(host, words, [surface, ...star, ...crosses(map.pis)], {
    ...legend, xaxis: { ...xaxis, range: [-0.5, map.taus.length - 0.5] },
    yaxis: { title: { text: isNarrow() ? "pi" : "pi (edge rounds between cloud merges)" }, ...ticks(map.pis), showgrid: false, zeroline: false, range: [-0.5, map.pis.length - 0.5] },
  });
}

function heatTable(id, map) {
  const outside = map.marks.filter((mark) => mark.tau > map.taus.at(-1) || mark.tau < map.taus[0] || (map.pis.length && (mark.pi > map.pis.at(-1) || mark.pi < map.pis[0])));
  const told = map.marks.map((mark) => `${mark.name}: tau = ${mark.tau}${mark.pi === null ? "" : `, pi = ${mark.pi}`}${outside.includes(mark) ? " (beyond the edge of the map)" : ""}.`).join(" ");
  const rows = (map.pis.length ? map.pis : ["all"]).map((pi, j) => [map.pis.length ? `pi ${pi}` : map.unit, ...map.z[j].map((each) => (each === null ? "" : Number(each.toPrecision(4)).toString()))]);
  return [
    make("p", { class: "note" }, `${told} ${map.note}`),
    folded(`${id}-table`, "As a table", table(`${map.title}: ${map.unit}`, ["", ...map.taus.map((tau) => `tau ${tau}`)], rows)),
  ];
}
