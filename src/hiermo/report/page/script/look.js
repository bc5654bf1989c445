// Colours, dashes and marks: Okabe and Ito's palette, told apart with every kind of colour vision; lighter on dark.

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B87D00", "#3A9BD8", "#000000", "#8A7A00"];
const DARK = ["#4DA8E8", "#FF8A45", "#2FC99A", "#E9A0C8", "#F2B134", "#9AD8FF", "#F2F2F2", "#F0E442"];
const DASHES = ["solid", "dash", "dashdot", "dot", "longdash", "longdashdot"];
const SWATCH = { solid: "", dash: "7 4", dashdot: "7 3 2 3", dot: "2 3", longdash: "11 4", longdashdot: "11 3 2 3" };
const MARKS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star"];

const isNarrow = () => window.innerWidth < 560; // a phone
const isDark = () => document.documentElement.dataset.theme === "dark";

function lookOf(k) {
  const colours = isDark() ? DARK : LIGHT;
  return { colour: colours[k % 8], dash: DASHES[k % 6], mark: MARKS[(k + Math.floor(k / 8)) % 8] };
}

function faded(colour, share) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${share})`;
}

const marks = {
  circle: (c) => makeSvg("circle", { cx: 17, cy: 7, r: 3.5, fill: c }),
  square: (c) => makeSvg("rect", { x: 13.5, y: 3.5, width: 7, height: 7, fill: c }),
  "triangle-up": (c) => makeSvg("path", { d: "M17 2.5l4.5 8h-9z", fill: c }),
  diamond: (c) => makeSvg("path", { d: "M17 2l4.5 5-4.5 5-4.5-5z", fill: c }),
  "triangle-down": (c) => makeSvg("path", { d: "M17 11.5l4.5-8h-9z", fill: c }),
  cross: (c) => makeSvg("path", { d: "M17 2.5v9M12.5 7h9", stroke: c, "stroke-width": 3 }),
  x: (c) => makeSvg("path", { d: "M13.5 3.5l7 7M20.5 3.5l-7 7", stroke: c, "stroke-width": 3 }),
  star: (c) => makeSvg("path", { d: "M17 1.5l1.7 3.8 4 .4-3 2.7.9 4L17 10.3l-3.6 2.1.9-4-3-2.7 4-.4z", fill: c }),
};

function swatch(k) {
  const { colour, dash, mark } = lookOf(k);
  const line = makeSvg("path", { d: "M1 7h32", stroke: colour, "stroke-width": 2.4, "stroke-dasharray": SWATCH[dash], fill: "none" });
  return makeSvg("svg", { width: 34, height: 14, viewBox: "0 0 34 14", "aria-hidden": "true" }, line, marks[mark](colour));
}

function layout(more) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const line = style.getPropertyValue("--line").trim();
  const narrow = isNarrow();
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true, tickfont: { size: narrow ? 10 : 12 } };
  const { xaxis = {}, yaxis = {}, ...rest } = more;
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, family: "system-ui, sans-serif", size: 13 },
    margin: narrow ? { l: 48, r: 8, t: 12, b: 44 } : { l: 60, r: 16, t: 16, b: 50 },
    showlegend: false,
    hoverlabel: { bgcolor: style.getPropertyValue("--panel").trim(), bordercolor: line, font: { color: ink }, namelength: -1 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: style.getPropertyValue("--soft").trim(), activecolor: ink },
    ...rest,
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, ...yaxis },
  };
}

const CONFIG = {
  displaylogo: false,
  responsive: true,
  typesetMath: false, // would want a script from elsewhere
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]], // these and no others
};

// Draws into a plot of its own; what it shows in words is its label.
function draw(host, label, traces, more) {
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", label);
  return Plotly.react(host, traces, layout(more), CONFIG);
}
