// The tree with its delays, from the cloud on the left to the workers on the right.

const ROW = 44;
const GAP = 90; // between the words of a node and the tier below
const LETTER = 6.7; // width of one, about

function labelWidth(node) {
  return 26 + LETTER * Math.max(node.name.length, nodeWords(node).length);
}

// Where the nodes of each tier begin: behind the longest words of the tier above.
function columnsOf(root) {
  const widest = {};
  (function look(node) {
    widest[node.tier] = Math.max(widest[node.tier] ?? 0, labelWidth(node));
    for (const child of node.children ?? []) look(child);
  })(root);
  const begin = { [root.tier]: 12 };
  for (let tier = root.tier - 1; tier >= 0; tier -= 1) begin[tier] = begin[tier + 1] + widest[tier + 1] + GAP;
  return { begin, width: begin[0] + (widest[0] ?? 120) };
}

function laidOut(root) {
  const { begin, width } = columnsOf(root);
  const placed = [];
  let rows = 0;
  function place(node, parent) {
    const own = { node, parent, x: begin[node.tier], y: 0 };
    placed.push(own);
    const below = (node.children ?? []).map((child) => place(child, own));
    if (node.more) {
      const more = { more: node.more, parent: own, x: begin[node.tier - 1], y: rows++ * ROW };
      placed.push(more);
      below.push(more);
    }
    own.y = below.length ? (below[0].y + below.at(-1).y) / 2 : rows++ * ROW;
    return own;
  }
  place(root, null);
  return { placed, width, height: rows * ROW + 8 };
}

function nodeWords(node) {
  const parts = [];
  if (node.compute_s !== undefined) parts.push(`${node.tier ? "merge" : "iteration"} ${seconds(node.compute_s)}`);
  if (node.up_s !== undefined) parts.push(`↑ ${seconds(node.up_s)} ↓ ${seconds(node.down_s)}`);
  return parts.join("  ");
}

function treeSvg(tree) {
  const { placed, width, height } = laidOut(tree.root);
  const lines = [];
  const nodes = [];
  for (const each of placed) {
    const y = each.y + 20;
    if (each.parent) {
      const from = { x: each.parent.x + labelWidth(each.parent.node), y: each.parent.y + 20 };
      lines.push(makeSvg("path", { d: `M${from.x} ${from.y}C${each.x - 30} ${from.y} ${from.x + 20} ${y} ${each.x} ${y}`, ...(each.more ? { "stroke-dasharray": "3 4" } : {}) }));
    }
    if (each.more) {
      nodes.push(makeSvg("text", { x: each.x + 8, y: y + 4, class: "soft" }, `${each.more.toLocaleString("en")} more`));
      continue;
    }
    nodes.push(makeSvg("circle", { cx: each.x + 8, cy: y, r: each.node.tier ? 8 : 6, class: "node" }));
    const label = makeSvg("text", { x: each.x + 22, y: y - 3 }, each.node.name);
    const soft = makeSvg("text", { x: each.x + 22, y: y + 13, class: "soft" }, nodeWords(each.node));
    nodes.push(label, soft);
  }
  return makeSvg("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${tree.words}; delays are in the table below` }, ...lines, ...nodes);
}

function treePart(id, tree, differ) {
  const range = (values) => (values ? { text: seconds(values[0]), small: values[1] === values[2] ? "" : `${seconds(values[1])} to ${seconds(values[2])}` } : "");
  const rows = tree.tiers.map((tier) => [tier.tier, tier.n ?? "", range(tier.compute_s), range(tier.up_s), range(tier.down_s)]);
  const size = tree.message_bytes ? `Messages: one model, ${bytes(tree.message_bytes)}, which takes ↑ up and ↓ down the link above a node.` : "The size of a message is not known before a run has begun: latencies alone are shown.";
  const words = tree.delays ? `Means of ${tree.delays}. ${size} Some algorithms send two vectors or more.${differ ? " Delays differ among the runs: these are the first one's." : ""}` : "The delays of these runs cannot be read.";
  const box = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The tree" }, treeSvg(tree));
  return [make("p", { class: "note" }, words), box, folded(`${id}-tree-table`, "As a table", table("Mean seconds, with their range over the nodes of a tier", ["tier", "nodes", "an iteration or a merge", "a model up", "a model down"], rows))];
}
