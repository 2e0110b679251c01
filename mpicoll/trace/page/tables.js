// Bytes and messages of every rank, and the matrix of who sent how much to whom.
function drawTables() {
  const call = current(), ranks = call.members.length;
  const bytes = Array.from({ length: ranks }, () => new Array(ranks).fill(0));
  const counts = new Array(ranks).fill(0);
  for (const [source, peer, , , size] of call.messages) {
    bytes[source][peer] += size;
    counts[source] += 1;
  }
  const head = make("tr", {});
  for (const word of ["rank", "messages", "sent", "received", "time", "waiting"]) head.append(make("th", { scope: "col" }, say(word)));
  const table = make("table", {}, head);
  for (let rank = 0; rank < ranks; rank += 1) {
    const sent = bytes[rank].reduce((a, b) => a + b, 0), received = bytes.reduce((a, row) => a + row[rank], 0);
    const [begin, end] = call.spans[rank];
    const row = make("tr", {}, make("th", { scope: "row" }, `${rank}${call.members[rank] === rank ? "" : ` (${call.members[rank]})`}`));
    for (const text of [counts[rank], sizeText(sent), sizeText(received), timeText(end - begin), timeText(call.waited[rank])]) row.append(make("td", {}, `${text}`));
    table.append(row);
  }
  $("ranks").replaceChildren(table);
  const most = Math.max(1, ...bytes.flat());
  const matrix = make("table", { class: ranks > 16 ? "many" : ranks > 8 ? "some" : "" });
  const top = make("tr", {}, make("th", {}));
  for (let rank = 0; rank < ranks; rank += 1) top.append(make("th", { scope: "col" }, ranks > 16 && rank % 8 ? "" : `${rank}`));
  matrix.append(top);
  bytes.forEach((row, source) => {
    const line = make("tr", {}, make("th", { scope: "row" }, ranks > 16 && source % 8 ? "" : `${source}`));
    row.forEach((size, peer) => {
      const cell = make("td", { title: `${source} → ${peer}: ${size} ${say("bytes")}` }, size ? (ranks > 8 ? sizeText(size).replace(/ (\w)\w*/, "$1") : sizeText(size)) : "·");
      if (size) cell.style.background = `color-mix(in srgb, var(--move) ${Math.round(12 + 48 * size / most)}%, var(--card))`;
      line.append(cell);
    });
    matrix.append(line);
  });
  $("matrix").replaceChildren(matrix);
}
