// Numbers for people, and texts for plotly.

function seconds(value) {
  if (value >= 1000) return `${Math.round(value).toLocaleString("en")} s`;
  return value >= 10 ? `${value.toFixed(1)} s` : value >= 1 ? `${value.toFixed(2)} s` : short(value);
}

function short(value) {
  if (!value) return "0 s";
  return value >= 1e-3 ? `${Number((1e3 * value).toPrecision(3))} ms` : `${Number((1e6 * value).toPrecision(3))} µs`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value >= 100 ? value.toFixed(0) : Number(value.toPrecision(3))} ${units[unit]}`;
}

function shown(key, value) {
  if (value === null || value === undefined) return "–";
  if (key.includes("accuracy")) return `${(100 * value).toFixed(2)} %`;
  if (key === "bytes") return bytes(value);
  if (key.endsWith("seconds")) return seconds(value);
  if (key === "iteration" || key === "cloud_round") return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(4)).toString();
}

// A deviation, in the unit of its mean; nothing where all are the same.
function spread(key, value, middle) {
  if (value === null || value === undefined || key === "iteration" || key === "cloud_round") return "";
  if (key.includes("accuracy")) return `± ${(100 * value).toFixed(2)}`;
  if (!value) return "";
  if (key.endsWith("seconds")) return `± ${middle >= 1 ? `${Number(value.toPrecision(2))}` : short(value)}`;
  return key === "bytes" ? `± ${bytes(value)}` : `± ${Number(value.toPrecision(2))}`;
}

const AXIS_NAMES = { iteration: "iterations", cloud_round: "cloud rounds", simulated_seconds: "simulated seconds", bytes: "bytes", seconds: "seconds of the machine" };

const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;

function deviation(values) {
  if (values.length < 2) return 0;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, each) => sum + (each - middle) ** 2, 0) / (values.length - 1));
}

// Plotly reads a little HTML and TeX in its texts: what is data is told to it in entities. U+2068 and U+2069 keep characters
// that turn the direction of writing from turning what stands beside them.
function safe(text, longest = 42) {
  const letters = [...String(text).replace(/[\u0000-\u001f\u007f]/g, " ")];
  const cut = letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : letters.join("");
  return `\u2068${cut.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("$", "&#36;")}\u2069`;
}
