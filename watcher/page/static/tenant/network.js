// Draws the connections that the NetworkPolicies allow. The diagram shows the tenant's namespaces in a frame, and the
// sources, targets and blocked nodes around the frame. A table below the diagram has the same content.

import { el, svg } from "../shared/dom.js";
import { narrowLayout, wideLayout } from "./network-layout.js";

const KINDS = { platform: "platform service", outside: "outside the cluster", other: "other tenants" };
// Limits of the diagram for the number of namespaces in the frame, the number of arrows per edge, and the length of a
// node's name, of its second line and of an arrow's label. The table has no limits.
const MAX_OWN = 12;
const MAX_ARROWS = 3;
const LENGTHS = { name: 27, second: 32, label: 21 };

export function networkDiagram({ nodes, edges, note }, tenant) {
  if (note) return el("p", {}, note);
  const graph = graphOf(nodes, edges);
  const text = description(nodes, edges);
  return el(
    "figure",
    { class: "network" },
    diagram("wide", wideLayout(graph), graph, tenant, text),
    diagram("narrow", narrowLayout(graph), graph, tenant, text),
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
    shownOwn: own.length > MAX_OWN ? [...own.slice(0, MAX_OWN - 1), moreNode(own.length - MAX_OWN + 1)] : own,
    inside: insideText(own, edges),
    sources: others.filter(isSource),
    targets: others.filter((node) => isTarget(node) && !isSource(node)),
    blocked: others.filter((node) => !isSource(node) && !isTarget(node)),
  };
}

function moreNode(count) {
  return { id: "more", kind: "own", label: `and ${count} more` };
}

/** Text about the connections between the tenant's namespaces. By default, all ports between them are open. */
function insideText(own, edges) {
  if (own.length < 2) return "";
  const ids = new Set(own.map(({ id }) => id));
  const open = edges.filter(({ source, target, ports }) => ids.has(source) && ids.has(target) && ports === "all");
  const isAll = open.length === own.length * (own.length - 1);
  return isAll ? "↕ all ports between them" : "between them: see the table";
}

/**
 * The arrows between the tenant and its neighbours. If all or many of the tenant's namespaces have the same edge, one
 * arrow at the frame stands for them. Otherwise, each namespace has its own arrow.
 */
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
    if (count > MAX_ARROWS) return [{ ...group, inside: null, ports: `${group.ports} · ${count} namespaces` }];
    return group.inside.map((id) => ({ ...group, inside: id }));
  });
}

function diagram(name, layout, graph, tenant, text) {
  const { frame, width, height } = layout;
  const id = (part) => `network-${name}-${part}`;
  return svg(
    "svg",
    {
      ...{ class: name, viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
      ...{ "aria-labelledby": id("title"), "aria-describedby": id("text") },
    },
    svg("title", { id: id("title") }, `Allowed connections of ${tenant}`),
    svg("desc", { id: id("text") }, text),
    svg("defs", {}, arrowHead(id("arrow"))),
    svg("rect", { ...frame, rx: 14, class: "frame" }),
    svg("text", { x: frame.x + 20, y: frame.y + 28, class: "frame-title" }, shortened(tenant, LENGTHS.name)),
    graph.inside && frameNote(frame, graph.inside),
    layout.blockedLines.map(blockedConnection),
    layout.connections.map((connection) => allowedConnection(connection, id("arrow"))),
    layout.boxes.map((box) => nodeBox(box, graph.blocked.includes(box.node))),
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

function allowedConnection({ d, label }, head) {
  return svg(
    "g",
    { class: "connection" },
    label && svg("title", {}, label.text),
    svg("path", { d, "marker-end": `url(#${head})` }),
    label && svg("text", { x: label.x, y: label.y, "text-anchor": "middle" }, shortened(label.text, LENGTHS.label)),
  );
}

function blockedConnection({ d, x, y }) {
  return svg(
    "g",
    { class: "blocked-connection" },
    svg("path", { d }),
    svg("circle", { cx: x, cy: y, r: 9 }),
    svg("path", { class: "cross", d: `M${x - 4} ${y - 4}l8 8m0-8-8 8` }),
  );
}

function nodeBox({ node, x, y, width, height, ports }, isBlocked) {
  const isOwn = node.kind === "own";
  const second = isBlocked ? "no connection allowed" : (ports ?? KINDS[node.kind]);
  const label = { x: x + 14, y: y + (isOwn ? height / 2 + 4.5 : 21), class: "node-label" };
  return svg(
    "g",
    { class: `node is-${node.kind}${isBlocked ? " is-blocked" : ""}` },
    svg("title", {}, ports ? `${node.label}: ${ports}` : node.label),
    svg("rect", { x, y, width, height, rx: isOwn ? 8 : 10 }),
    svg("text", label, shortened(node.label, LENGTHS.name)),
    !isOwn && svg("text", { x: x + 14, y: y + 38, class: "node-kind" }, shortened(second, LENGTHS.second)),
  );
}

/** The text, shortened in the middle, because names often differ only at the end. */
function shortened(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor(length / 3);
  return `${text.slice(0, length - tail - 1)}…${text.slice(-tail)}`;
}

function portsText(ports) {
  return ports === "all" ? "all ports" : ports;
}

function description(nodes, edges) {
  const label = labels(nodes);
  const texts = edges.map(({ source, target, ports }) => `${label(source)} to ${label(target)}: ${portsText(ports)}`);
  return texts.length ? `${texts.join("; ")}. No other connection is allowed.` : "No connection is allowed.";
}

function reachTable(nodes, edges) {
  const label = labels(nodes);
  const connected = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const blocked = nodes.filter(({ id, kind }) => kind !== "own" && !connected.has(id));
  const row = (...cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)));
  const rows = [
    ...edges.map(({ source, target, ports }) => row(label(source), label(target), portsText(ports))),
    ...blocked.map((node) => row("all its namespaces", node.label, "none, in both directions")),
  ];
  const head = el("tr", {}, ["From", "To", "Ports"].map((title) => el("th", { scope: "col" }, title)));
  return el(
    "details",
    { class: "as-table" },
    el("summary", {}, "Show as a table"),
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
