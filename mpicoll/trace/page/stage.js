// The stage: every rank with its chunks, and the messages of a step as arrows with a moving dot.
const stage = { cards: [], chunks: [], moves: [], dots: [], ring: false };

function buildStage() {
  const call = current(), box = $("stage"), arrows = $("arrows");
  box.replaceChildren(arrows);
  stage.cards = [];
  stage.chunks = [];
  const ranks = call.members.length, known = call.rows !== undefined;
  const blocks = known ? call.rows[0][0].length : 0;
  const narrow = box.clientWidth < 620;
  // A ring has room for few ranks with short rows of chunks; others stand in a column.
  stage.ring = ranks > 2 && blocks <= 8 && ranks <= (narrow ? 4 : 8) && ranks * blocks <= 64;
  box.className = `stage ${stage.ring ? "ring" : "rows"}${stage.ring && ranks > 6 ? " large" : ""}`;
  const room = (box.clientWidth - (narrow ? 80 : 220)) / Math.max(1, blocks);
  stage.size = !stage.ring && room < 24 ? "tiny" : blocks > (stage.ring ? 5 : 8) ? "small" : "";
  box.style.setProperty("--cell", `${Math.max(1.45, Math.min(2.7, (narrow ? 6.6 : 15) / Math.max(1, blocks)))}rem`);
  box.style.setProperty("--gutter", `${narrow ? 44 : Math.min(120, 40 + 6 * ranks)}px`);
  for (let rank = 0; rank < ranks; rank += 1) {
    const name = make("b", {}, `${say("rank")} ${rank} `, make("i", {}, call.letters[rank]));
    const row = make("div", { class: "chunks" });
    const chunks = [];
    for (let block = 0; block < blocks; block += 1) {
      const node = chunkNode();
      chunks.push(node);
      row.append(node);
    }
    const card = make("div", { class: "rank", role: "group", "aria-label": `${say("rank")} ${rank}`, "data-rank": rank }, name, row);
    if (stage.ring) {
      const angle = 2 * Math.PI * rank / ranks - Math.PI / 2;
      const wide = narrow ? 27 : 36;
      card.style.left = `${50 + wide * Math.cos(angle)}%`;
      card.style.top = `${50 + 40 * Math.sin(angle)}%`;
    }
    stage.cards.push(card);
    stage.chunks.push(chunks);
    box.append(card);
  }
}

function drawStage() {
  const call = current();
  if (call.rows === undefined) return;
  const active = new Set();
  stage.moves = state.step ? call.messages.filter((m) => m[5] === state.step - 1) : [];
  for (const [source, peer] of stage.moves) { active.add(source); active.add(peer); }
  call.rows.forEach((row, rank) => {
    stage.cards[rank].classList.toggle("active", active.has(rank));
    row[state.step].forEach((held, block) => {
      const before = state.step ? row[state.step - 1][block] : held;
      const fresh = (before?.[1] ?? "") !== (held?.[1] ?? "");
      fillChunk(stage.chunks[rank][block], held, block, fresh, stage.size, call.reduces, call.members.length);
    });
  });
  drawArrows();
}

function drawArrows() {
  const arrows = $("arrows"), frame = $("stage").getBoundingClientRect();
  arrows.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  arrows.replaceChildren();
  stage.dots = stage.moves.slice(0, 400).map(([source, peer, , , , , carried]) => {
    const curve = stage.ring ? across(source, peer, frame) : beside(source, peer, frame);
    const path = make("path", { d: curve, fill: "none", stroke: "var(--move)", "stroke-width": 2, "stroke-opacity": .75 });
    arrows.append(path);
    const length = path.getTotalLength();
    const end = path.getPointAtLength(length), near = path.getPointAtLength(Math.max(0, length - 9));
    const dx = (end.x - near.x) / 9, dy = (end.y - near.y) / 9;
    arrows.append(make("path", { fill: "var(--move)", d: `M${end.x} ${end.y}L${end.x - 9 * dx - 4.5 * dy} ${end.y - 9 * dy + 4.5 * dx}L${end.x - 9 * dx + 4.5 * dy} ${end.y - 9 * dy - 4.5 * dx}z` }));
    if (stage.ring && frame.width > 620 && stage.moves.length <= 8 && carried && carried.length < 24) {
      const middle = path.getPointAtLength(length / 2);
      const inward = middle.x > frame.width / 2 ? "end" : "start";
      const text = make("text", { x: middle.x + (inward === "end" ? -8 : 8), y: middle.y + 4, "text-anchor": inward, style: "paint-order:stroke;stroke:var(--card);stroke-width:4px;font-weight:600" }, carried);
      arrows.append(text);
    }
    const dot = make("circle", { r: 5, fill: "var(--move)", stroke: "var(--card)", "stroke-width": 1.5 });
    arrows.append(dot);
    return { dot, path, length };
  });
  placeDots(1);
}

function placeDots(share) {
  for (const { dot, path, length } of stage.dots) {
    const point = path.getPointAtLength(length * share);
    dot.setAttribute("cx", point.x);
    dot.setAttribute("cy", point.y);
    dot.setAttribute("visibility", share >= 1 ? "hidden" : "visible");
  }
}

// On the ring: from the edge of one card to the edge of the other, bent a little so that
// messages there and back are two curves.
function across(source, peer, frame) {
  const [a, b] = [source, peer].map((rank) => stage.cards[rank].getBoundingClientRect());
  const ax = a.left + a.width / 2 - frame.left, ay = a.top + a.height / 2 - frame.top;
  const bx = b.left + b.width / 2 - frame.left, by = b.top + b.height / 2 - frame.top;
  const bend = .13, mx = (ax + bx) / 2 - bend * (by - ay), my = (ay + by) / 2 + bend * (bx - ax);
  const [sx, sy] = edge(ax, ay, a.width, a.height, mx, my);
  const [ex, ey] = edge(bx, by, b.width, b.height, mx, my);
  return `M${sx} ${sy}Q${mx} ${my} ${ex} ${ey}`;
}

function edge(x, y, width, height, towardX, towardY) {
  const dx = towardX - x, dy = towardY - y;
  const share = Math.min((width / 2 + 4) / Math.max(1e-6, Math.abs(dx)), (height / 2 + 4) / Math.max(1e-6, Math.abs(dy)));
  return [x + dx * Math.min(1, share), y + dy * Math.min(1, share)];
}

// In the column: an arc through the margin on the right.
function beside(source, peer, frame) {
  const [a, b] = [source, peer].map((rank) => stage.cards[rank].getBoundingClientRect());
  const x = a.right - frame.left + 3, room = frame.right - a.right - 12;
  const up = peer < source ? 5 : -5;
  const ay = a.top + a.height / 2 - frame.top - up, by = b.top + b.height / 2 - frame.top + up;
  const far = Math.abs(peer - source) / Math.max(1, stage.cards.length - 1);
  const depth = x + room * (.45 + .85 * far);
  return `M${x} ${ay}C${depth} ${ay} ${depth} ${by} ${x} ${by}`;
}
