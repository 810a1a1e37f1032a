// Computes the coordinates of the network diagram. network.js draws the diagram.
//
// Both layouts return {width, height, frame, boxes, connections, blockedLines}. Each node has a box, each arrow has an
// SVG path with a label, and each neighbour without allowed connections has a blocked line.

const NODE = { width: 216, height: 50, gap: 18 };
const OWN = { width: 232, height: 38, gap: 10 };
const FRAME = { width: 272, head: 44, foot: 46 };
const GAP = 150;
const BLOCKED_GAP = 74;
// On a phone, all nodes are in one column, beside a vertical line on the left.
const NARROW = { width: 340, rail: 9, indent: 34, gap: 12, between: 34 };

/** For a wide screen: sources on the left, targets on the right, blocked nodes below. */
export function wideLayout(graph) {
  const { shownOwn: own, sources, targets, blocked, arrows } = graph;
  const inner = Math.max(
    stackHeight(own.length, OWN) + FRAME.head + FRAME.foot,
    stackHeight(sources.length, NODE) + 24,
    stackHeight(targets.length, NODE) + 24,
  );
  const frame = { x: sources.length ? NODE.width + GAP : 12, y: 6, width: FRAME.width, height: inner };
  const right = frame.x + frame.width + GAP;
  const row = blockedRow(blocked, frame);
  const boxes = [
    ...stacked(own, frame.x + 20, OWN, frame.y + FRAME.head, frame.y + inner - FRAME.foot),
    ...stacked(sources, 1, NODE, frame.y, frame.y + inner),
    ...stacked(targets, right, NODE, frame.y, frame.y + inner),
    ...row,
  ];
  const farthest = targets.length ? right + NODE.width + 1 : frame.x + frame.width + 12;
  return {
    width: Math.max(farthest, ...row.map((box) => box.x + box.width + 1)),
    height: row.length ? row[0].y + NODE.height + 2 : frame.y + inner + 4,
    frame,
    boxes,
    connections: arrows.map((arrow) => wideConnection(arrow, arrows, frame, boxes)),
    blockedLines: row.map((box) => wideBlockedLine(frame, box)),
  };
}

/** For a phone: one column, with sources at the top and blocked nodes at the bottom. */
export function narrowLayout(graph) {
  const { shownOwn: own, sources, targets, blocked, arrows } = graph;
  const size = { width: NARROW.width - NARROW.indent - 1, height: NODE.height, gap: NARROW.gap };
  const column = (nodes, y) => stacked(nodes, NARROW.indent, size, y, y + stackHeight(nodes.length, size));
  const top = column(sources, 2);
  const start = top.length ? end(top) + NARROW.between : 6;
  const height = stackHeight(own.length, OWN) + FRAME.head + FRAME.foot;
  const frame = { x: 1, y: start, width: NARROW.width - 2, height };
  const wide = { ...OWN, width: NARROW.width - 40 };
  const inside = stacked(own, 20, wide, frame.y + FRAME.head, frame.y + height - FRAME.foot);
  const bottom = column(targets, frame.y + height + NARROW.between);
  const last = column(blocked, (bottom.length ? end(bottom) : frame.y + height) + NARROW.between);
  const neighbours = [...top, ...bottom].map((box) => ({ ...box, ports: neighbourPorts(box.node, arrows, graph.own) }));
  return {
    width: NARROW.width,
    height: Math.max(frame.y + height, ...[...bottom, ...last].map((box) => box.y + box.height)) + 2,
    frame,
    boxes: [...inside, ...neighbours, ...last],
    connections: neighbours.flatMap((box) => narrowConnections(box, arrows, frame)),
    blockedLines: last.map((box) => {
      return { d: `M${NARROW.rail} ${middle(box)}H${box.x}`, x: NARROW.rail + 2, y: middle(box) };
    }),
  };
}

function stackHeight(count, { height, gap }) {
  return Math.max(0, count * (height + gap) - gap);
}

/** The boxes of nodes in a column, centred between the heights `from` and `to`. */
function stacked(nodes, x, { width, height, gap }, from, to) {
  const start = (from + to - stackHeight(nodes.length, { height, gap })) / 2;
  return nodes.map((node, index) => ({ node, x, y: start + index * (height + gap), width, height }));
}

function end(boxes) {
  return Math.max(...boxes.map((box) => box.y + box.height));
}

function middle(box) {
  return box.y + box.height / 2;
}

function blockedRow(nodes, frame) {
  const span = stackHeight(nodes.length, { height: NODE.width, gap: NODE.gap });
  const first = Math.max(1, frame.x + frame.width / 2 - span / 2);
  const y = frame.y + frame.height + BLOCKED_GAP;
  const { width, height, gap } = NODE;
  return nodes.map((node, index) => ({ node, x: first + index * (width + gap), y, width, height }));
}

function wideConnection(arrow, arrows, frame, boxes) {
  const box = boxes.find(({ node }) => node.id === arrow.neighbour);
  const isLeft = box.x < frame.x;
  // Several arrows of one node are drawn side by side.
  const siblings = arrows.filter(({ neighbour }) => neighbour === arrow.neighbour);
  const index = siblings.indexOf(arrow);
  const y = box.y + (box.height * (index + 1)) / (siblings.length + 1);
  const outer = { x: isLeft ? box.x + box.width : box.x, y };
  const edge = isLeft ? frame.x : frame.x + frame.width;
  const ownBox = boxes.find(({ node }) => node.id === arrow.inside);
  const inner = ownBox ? { x: isLeft ? ownBox.x : ownBox.x + ownBox.width, y: middle(ownBox) } : { x: edge, y };
  const [from, to] = arrow.isOut ? [inner, outer] : [outer, inner];
  const turn = (from.x + to.x) / 2;
  const isRepeated = siblings.slice(0, index).some(({ ports }) => ports === arrow.ports);
  // The label is above the line. It is below the line if the line turns upwards or another label is above.
  const isBelow = inner.y < outer.y || index > 0;
  return {
    d: `M${from.x} ${from.y}C${turn} ${from.y} ${turn} ${to.y} ${to.x} ${to.y}`,
    label: isRepeated ? null : { text: arrow.ports, x: (outer.x + edge) / 2, y: isBelow ? y + 15 : y - 7 },
  };
}

function wideBlockedLine(frame, box) {
  const x = box.x + box.width / 2;
  const start = Math.min(Math.max(x, frame.x + 24), frame.x + frame.width - 24);
  const [top, bottom] = [frame.y + frame.height, box.y];
  const height = (top + bottom) / 2;
  return { d: `M${start} ${top}C${start} ${height} ${x} ${height} ${x} ${bottom}`, x: (start + x) / 2, y: height };
}

function narrowConnections(box, arrows, frame) {
  const ownArrows = arrows.filter(({ neighbour }) => neighbour === box.node.id);
  const isAbove = box.y < frame.y;
  const edge = isAbove ? frame.y : frame.y + frame.height;
  const rail = NARROW.rail + 8;
  return [
    ownArrows.some(({ isOut }) => !isOut) && { d: `M${box.x} ${middle(box)}H${rail}V${edge}` },
    ownArrows.some(({ isOut }) => isOut) && { d: `M${rail} ${edge}V${middle(box)}H${box.x}` },
  ].filter(Boolean);
}

/** The text about ports and namespaces. It is inside the node, because there is no space beside the arrows. */
function neighbourPorts(node, arrows, own) {
  const label = new Map(own.map(({ id, label: name }) => [id, name]));
  return arrows
    .filter(({ neighbour }) => neighbour === node.id)
    .map(({ ports, inside }) => (inside ? `${ports} · ${label.get(inside)}` : ports))
    .join("; ");
}
