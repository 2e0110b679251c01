// Small helpers, and the boxes that show what a rank holds.
const $ = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "line", "path", "rect", "circle", "text", "g", "title"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// One chunk: its text, and its state as colour, border, pattern and label.
function fillChunk(node, held, block, fresh, size, reduces, ranks) {
  const [short, whole, kind, count] = held ?? ["", "", "", 0];
  node.className = ["chunk", kind, size, fresh ? "fresh" : ""].filter(Boolean).join(" ");
  node.dataset.value = whole;
  node.dataset.state = kind;
  const share = reduces && held ? `, ${count} / ${ranks} ${say("contributors")}` : "";
  const label = held ? `${say("chunk")} ${block}: ${whole}, ${say(kind)}${share}`
    : `${say("chunk")} ${block}: ${say("empty")}`;
  node.setAttribute("aria-label", label);
  node.title = label;
  const room = size === "small" ? 3 : 5;
  node.firstChild.textContent = short.length <= room ? short : reduces ? `${count}/${ranks}` : short.slice(0, room);
}

function chunkNode() {
  return make("span", { class: "chunk", role: "img" }, make("span"));
}

function legend() {
  const list = $("legend");
  list.replaceChildren();
  for (const kind of ["complete", "partial", "wrong", "fresh"]) {
    const box = make("span", { class: `chunk ${kind}`, "aria-hidden": "true" }, make("span"));
    list.append(make("li", {}, box, say(kind)));
  }
}
