// Who a tenant's pods can talk to, as a picture: its namespaces in a frame, what may come in, what may be
// reached, and what is barred. The same stands in a table beneath.

import { el, svg } from "../shared/dom.js";
import { narrowLayout, wideLayout } from "./network-layout.js";

const KINDS = { platform: "platform service", outside: "outside the cluster", other: "other tenants" };
// What fits: namespaces into the frame, arrows at a node, and text into a node, its second line, and beside an
// arrow. The table has it all.
const MOST_OWN = 12;
const MOST_ARROWS = 3;
const LENGTHS = { name: 27, second: 32, label: 21 };

export function networkPicture({ nodes, edges, note }, tenant) {
  if (note) return el("p", {}, note);
  const graph = graphOf(nodes, edges);
  const text = told(nodes, edges);
  return el(
    "figure",
    { class: "network" },
    picture("wide", wideLayout(graph), graph, tenant, text),
    picture("narrow", narrowLayout(graph), graph, tenant, text),
    reachTable(nodes, edges),
  );
}

function graphOf(nodes, edges) {
  const arrows = arrowsOf(nodes, edges);
  const isSource = ({ id }) => arrows.some((arrow) => arrow.neighbour === id && !arrow.isOut);
  const isTarget = ({ id }) => arrows.some((arrow) => arrow.neighbour === id && arrow.isOut);
  const own = nodes.filter(({ kind }) => kind === "own");
  const others = nodes.filter(({ kind }) => kind !== "own");
  return {
    arrows,
    own,
    shownOwn: own.length > MOST_OWN ? [...own.slice(0, MOST_OWN - 1), more(own.length - MOST_OWN + 1)] : own,
    inside: insideText(own, edges),
    sources: others.filter(isSource),
    targets: others.filter((node) => isTarget(node) && !isSource(node)),
    barred: others.filter((node) => !isSource(node) && !isTarget(node)),
  };
}

function more(count) {
  return { id: "more", kind: "own", label: `and ${count} more` };
}

/** How the namespaces of a tenant reach each other: as a rule, all of them on all ports. */
function insideText(own, edges) {
  if (own.length < 2) return "";
  const ids = new Set(own.map(({ id }) => id));
  const open = edges.filter(({ source, target, ports }) => ids.has(source) && ids.has(target) && ports === "all");
  const isAll = open.length === own.length * (own.length - 1);
  return isAll ? "↕ all ports among them" : "among them: see the table";
}

/** One arrow at the frame where all of the tenant's namespaces have the same edge, else one for each. */
function arrowsOf(nodes, edges) {
  const own = new Set(nodes.filter(({ kind }) => kind === "own").map(({ id }) => id));
  const groups = new Map();
  for (const { source, target, ports } of edges) {
    if (own.has(source) === own.has(target)) continue;
    const isOut = own.has(source);
    const neighbour = isOut ? target : source;
    const key = JSON.stringify([isOut, neighbour, ports]);
    if (!groups.has(key)) groups.set(key, { isOut, neighbour, ports: portsText(ports), inside: [] });
    groups.get(key).inside.push(isOut ? source : target);
  }
  return [...groups.values()].flatMap((group) => {
    const count = group.inside.length;
    if (count === own.size) return [{ ...group, inside: null }];
    if (count > MOST_ARROWS) return [{ ...group, inside: null, ports: `${group.ports} · ${count} of them` }];
    return group.inside.map((id) => ({ ...group, inside: id }));
  });
}

function picture(name, plan, graph, tenant, text) {
  const { frame, width, height } = plan;
  const id = (part) => `network-${name}-${part}`;
  return svg(
    "svg",
    {
      ...{ class: name, viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
      ...{ "aria-labelledby": id("title"), "aria-describedby": id("text") },
    },
    svg("title", { id: id("title") }, `What ${tenant} can reach, and what can reach it`),
    svg("desc", { id: id("text") }, text),
    svg("defs", {}, arrowHead(id("arrow"))),
    svg("rect", { ...frame, rx: 14, class: "frame" }),
    svg("text", { x: frame.x + 20, y: frame.y + 28, class: "frame-title" }, shortened(tenant, LENGTHS.name)),
    graph.inside && frameNote(frame, graph.inside),
    plan.bars.map(barredWay),
    plan.ways.map((way) => openWay(way, id("arrow"))),
    plan.boxes.map((box) => nodeBox(box, graph.barred.includes(box.node))),
  );
}

function arrowHead(id) {
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" };
  return svg("marker", { id, ...size }, svg("path", { d: "M0 .6 7.4 4 0 7.4Z", class: "head" }));
}

function frameNote(frame, text) {
  const place = { x: frame.x + frame.width / 2, y: frame.y + frame.height - 18, "text-anchor": "middle" };
  return svg("text", { ...place, class: "frame-note" }, text);
}

function openWay({ d, label }, head) {
  return svg(
    "g",
    { class: "way" },
    label && svg("title", {}, label.text),
    svg("path", { d, "marker-end": `url(#${head})` }),
    label && svg("text", { x: label.x, y: label.y, "text-anchor": "middle" }, shortened(label.text, LENGTHS.label)),
  );
}

function barredWay({ d, x, y }) {
  return svg(
    "g",
    { class: "barred-way" },
    svg("path", { d }),
    svg("circle", { cx: x, cy: y, r: 9 }),
    svg("path", { class: "bar", d: `M${x - 4} ${y - 4}l8 8m0-8-8 8` }),
  );
}

function nodeBox({ node, x, y, width, height, told: ports }, isBarred) {
  const isOwn = node.kind === "own";
  const second = isBarred ? "no way in or out" : (ports ?? KINDS[node.kind]);
  const label = { x: x + 14, y: y + (isOwn ? height / 2 + 4.5 : 21), class: "node-label" };
  return svg(
    "g",
    { class: `node is-${node.kind}${isBarred ? " is-barred" : ""}` },
    svg("title", {}, ports ? `${node.label}: ${ports}` : node.label),
    svg("rect", { x, y, width, height, rx: isOwn ? 8 : 10 }),
    svg("text", label, shortened(node.label, LENGTHS.name)),
    !isOwn && svg("text", { x: x + 14, y: y + 38, class: "node-kind" }, shortened(second, LENGTHS.second)),
  );
}

/** The end of a name often tells more than its middle. */
function shortened(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor(length / 3);
  return `${text.slice(0, length - tail - 1)}…${text.slice(-tail)}`;
}

function portsText(ports) {
  return ports === "all" ? "all ports" : ports;
}

function told(nodes, edges) {
  const label = labels(nodes);
  const ways = edges.map(({ source, target, ports }) => `${label(source)} to ${label(target)}: ${portsText(ports)}`);
  return ways.length ? `${ways.join("; ")}. Nothing else is allowed.` : "Nothing is allowed.";
}

function reachTable(nodes, edges) {
  const label = labels(nodes);
  const touched = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const barred = nodes.filter(({ id, kind }) => kind !== "own" && !touched.has(id));
  const row = (...cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)));
  const rows = [
    ...edges.map(({ source, target, ports }) => row(label(source), label(target), portsText(ports))),
    ...barred.map((node) => row("any of its namespaces", node.label, "none, either way")),
  ];
  const head = el("tr", {}, ["From", "To", "Ports"].map((title) => el("th", { scope: "col" }, title)));
  return el(
    "details",
    { class: "as-table" },
    el("summary", {}, "The same as a table"),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Network table" },
      el("table", { class: "plain" }, el("thead", {}, head), el("tbody", {}, rows)),
    ),
  );
}

function labels(nodes) {
  const byId = new Map(nodes.map(({ id, label }) => [id, label]));
  return (id) => byId.get(id) ?? id;
}
