// The space-time diagram: what every rank did when, messages between them, the critical path.
const KINDS = {
  post: { fill: "var(--accent)", pattern: "" },
  wait: { fill: "url(#hatch)", pattern: "hatch" },
  transfer: { fill: "var(--accent-soft)", pattern: "" },
  local: { fill: "var(--done)", pattern: "dots" },
};

function drawTimeline() {
  const call = current(), box = $("timeline"), ranks = call.members.length;
  const lane = ranks > 24 ? 11 : ranks > 8 ? 22 : 40, bar = lane * .5;
  const left = 58, right = 14, top = 24, width = Math.max(560, box.clientWidth - 2);
  const height = top + ranks * lane + 8;
  const total = Math.max(1, call.seconds * 1e9);
  const x = (ns) => left + (width - left - right) * ns / total;
  const y = (rank) => top + rank * lane + lane / 2;
  const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${say("timeline")}: ${call.title}` });
  const defs = document.createElementNS("http://www.w3.org/2000/svg", "defs");
  const hatch = document.createElementNS("http://www.w3.org/2000/svg", "pattern");
  for (const [key, value] of Object.entries({ id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" })) hatch.setAttribute(key, value);
  hatch.append(make("rect", { width: 6, height: 6, fill: "var(--card)" }), make("rect", { width: 2, height: 6, fill: "var(--wait)" }));
  defs.append(hatch);
  svg.append(defs);
  const band = bandOf(call);
  if (band) svg.append(make("rect", { id: "band", x: x(band[0]), y: top - 4, width: Math.max(2, x(band[1]) - x(band[0])), height: ranks * lane + 8, fill: "var(--move)", "fill-opacity": .1 }));
  for (let tick = 0; tick <= 5; tick += 1) {
    const at = total * tick / 5;
    svg.append(make("line", { x1: x(at), x2: x(at), y1: top - 4, y2: height - 4, stroke: "var(--line)" }));
    svg.append(make("text", { x: x(at), y: 13, class: "quiet", "text-anchor": tick === 5 ? "end" : tick ? "middle" : "start" }, tick ? timeText(at) : "0"));
  }
  call.lanes.forEach((stretches, rank) => {
    if (ranks <= 24 || rank % 4 === 0) svg.append(make("text", { x: 4, y: y(rank) + 4 }, ranks > 24 ? `${rank}` : `${say("rank")} ${rank}`));
    const [begin, end] = call.spans[rank];
    svg.append(make("rect", { x: x(begin), y: y(rank) - bar / 2, width: Math.max(.5, x(end) - x(begin)), height: bar, fill: "none", stroke: "var(--line)" }));
    for (const [kind, from, to] of stretches) {
      const node = make("rect", { x: x(from), y: y(rank) - bar / 2, width: Math.max(.8, x(to) - x(from)), height: bar, fill: KINDS[kind].fill, stroke: kind === "wait" ? "var(--wait)" : "none", "stroke-width": .7 });
      node.append(make("title", {}, `${say("rank")} ${rank}: ${say(kind)}, ${timeText(to - from)}`));
      svg.append(node);
    }
  });
  const many = call.messages.length > 600;
  for (const [source, peer, begin, end, bytes, , carried] of call.messages) {
    const line = make("line", { x1: x(begin), y1: y(source), x2: x(end), y2: y(peer), stroke: "var(--move)", "stroke-width": many ? .5 : 1.1, "stroke-opacity": many ? .35 : .75 });
    line.append(make("title", {}, `${say("rank")} ${source} ${say("to")} ${peer}: ${carried ? `${carried}, ` : ""}${bytes} ${say("bytes")}, ${timeText(end - begin)}`));
    svg.append(line);
    if (!many) svg.append(make("circle", { cx: x(end), cy: y(peer), r: 2.2, fill: "var(--move)" }));
  }
  let way = "";
  for (const [kind, rank, begin, end, peer] of call.path) {
    way += `${way ? "L" : "M"}${x(begin)} ${y(rank)}L${x(end)} ${y(kind === "message" ? peer : rank)}`;
  }
  svg.append(make("path", { d: way, fill: "none", stroke: "var(--ink)", "stroke-width": 3, "stroke-opacity": .8, "stroke-linejoin": "round" }));
  box.replaceChildren(svg);
  timelineLegend();
  const waited = Math.max(...call.waited), who = call.waited.indexOf(waited);
  $("moment").textContent = `${call.title}: ${say("took")} ${timeText(total)}; ${say("longest")}: ${say("rank")} ${who}, ${timeText(waited)}`;
}

// From the first post to the last arrival of the messages of the shown step.
function bandOf(call) {
  const moves = state.step ? call.messages.filter((m) => m[5] === state.step - 1) : [];
  if (!moves.length) return null;
  return [Math.min(...moves.map((m) => m[2])), Math.max(...moves.map((m) => m[3]))];
}

function timelineLegend() {
  const list = $("timeline-legend");
  list.replaceChildren();
  for (const kind of ["post", "wait", "transfer", "local"]) {
    const icon = make("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" }, make("rect", { x: 1, y: 1, width: 32, height: 12, fill: KINDS[kind].fill, stroke: "var(--quiet)", "stroke-width": .8 }));
    list.append(make("li", {}, icon, say(kind)));
  }
  const thin = make("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" }, make("line", { x1: 1, y1: 3, x2: 31, y2: 11, stroke: "var(--move)" }), make("circle", { cx: 31, cy: 11, r: 2.2, fill: "var(--move)" }));
  const thick = make("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" }, make("line", { x1: 1, y1: 7, x2: 33, y2: 7, stroke: "var(--ink)", "stroke-width": 3 }));
  list.append(make("li", {}, thin, say("message")), make("li", {}, thick, say("path")));
}
