// State, controls and keys.
const data = JSON.parse($("data").textContent);
const state = {
  call: 0, step: 0, playing: false, speed: 1,
  language: (navigator.language || "en").startsWith("zh") ? "zh" : "en",
  dark: window.matchMedia("(prefers-color-scheme: dark)").matches,
};
const current = () => data.calls[state.call];
const STEP = 1100;
let frame = 0, began = 0;

function words() {
  document.documentElement.lang = state.language === "zh" ? "zh-CN" : "en";
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = say(node.dataset.word);
  for (const node of document.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", say(node.dataset.label));
    node.title = say(node.dataset.label);
  }
  $("language").textContent = say("other");
  $("theme").textContent = say(state.dark ? "light" : "dark");
  const notes = [`${data.library.split(/\s+/).slice(0, 4).join(" ")}. ${say("footer")}`];
  if (data.left_out) notes.push(`${data.left_out} ${say("leftOut")}`);
  if (data.dropped) notes.push(`${data.dropped} ${say("dropped")}`);
  $("footer").textContent = notes.join(" ");
  legend();
}

function showCall() {
  const call = current();
  $("title").textContent = call.title;
  document.title = call.title;
  $("about").textContent = call.about;
  const problems = data.calls.length > 1 ? call.problems : data.problems;
  $("problems").hidden = !problems.length;
  $("problems").textContent = problems.join("\n");
  const steps = call.steps ?? 0, known = call.rows !== undefined && call.rows[0][0].length + steps > 0;
  $("play").hidden = !known;
  state.step = Math.min(state.step, steps);
  $("jump").max = steps;
  if (known) buildStage();
  $("told").open = call.members.length <= 8;
  drawTables();
  showStep();
}

function showStep() {
  const call = current(), steps = call.steps ?? 0;
  $("jump").value = state.step;
  $("first").disabled = $("back").disabled = state.step === 0;
  $("next").disabled = $("last").disabled = state.step === steps;
  const counter = $("counter");
  counter.replaceChildren();
  if (state.step === 0) counter.append(say("before"));
  else {
    const phase = call.phases[state.step - 1];
    const names = call.phases.filter((name, i) => i === 0 || call.phases[i - 1] !== name);
    const number = call.phases.slice(0, state.step).filter((name, i) => i === 0 || call.phases[i - 1] !== name).length;
    const text = state.language === "zh" ? `第 ${state.step} 步，共 ${steps} 步` : `step ${state.step} of ${steps}`;
    counter.append(text, " ", make("small", {}, `${say("phase")} ${number}/${names.length}: ${phase}`));
  }
  const lines = $("lines");
  lines.replaceChildren();
  if (state.step) {
    for (const [rank, text] of Object.entries(call.lines[state.step - 1])) {
      lines.append(make("p", { "data-line": rank }, make("b", {}, `${say("rank")} ${rank}`), ` ${lineText(text)}`));
    }
  }
  drawStage();
  drawTimeline();
}

function go(step) {
  const steps = current().steps ?? 0;
  state.step = Math.max(0, Math.min(steps, step));
  showStep();
}

function play(on) {
  state.playing = on;
  $("run").classList.toggle("on", on);
  $("run").setAttribute("aria-label", say(on ? "pause" : "run"));
  cancelAnimationFrame(frame);
  if (!on) { placeDots(1); return; }
  if (state.step === (current().steps ?? 0)) go(0);
  began = 0;
  frame = requestAnimationFrame(tick);
}

function tick(now) {
  if (!began) { began = now; if (state.step === 0) { go(1); } }
  const share = (now - began) * state.speed / STEP;
  if (share >= 1.35) {
    if (state.step === current().steps) { play(false); return; }
    go(state.step + 1);
    began = now;
  } else placeDots(Math.min(1, share));
  frame = requestAnimationFrame(tick);
}

function theme() {
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  $("theme").textContent = say(state.dark ? "light" : "dark");
}

function speak(language) {
  state.language = language;
  words();
  showCall();
}

function faster(by) {
  const box = $("speed");
  box.selectedIndex = Math.max(0, Math.min(box.options.length - 1, box.selectedIndex + by));
  state.speed = +box.value;
}

$("first").onclick = () => { play(false); go(0); };
$("back").onclick = () => { play(false); go(state.step - 1); };
$("next").onclick = () => { play(false); go(state.step + 1); };
$("last").onclick = () => { play(false); go(Infinity); };
$("run").onclick = () => play(!state.playing);
$("jump").oninput = (event) => { play(false); go(+event.target.value); };
$("speed").onchange = (event) => { state.speed = +event.target.value; };
$("language").onclick = () => speak(state.language === "en" ? "zh" : "en");
$("theme").onclick = () => { state.dark = !state.dark; theme(); };
$("call").onchange = (event) => { play(false); state.call = +event.target.value; state.step = 0; showCall(); };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
  const keys = {
    " ": () => play(!state.playing), ArrowRight: () => { play(false); go(state.step + 1); },
    ArrowLeft: () => { play(false); go(state.step - 1); }, Home: () => { play(false); go(0); },
    End: () => { play(false); go(Infinity); }, "+": () => faster(1), "-": () => faster(-1),
    l: () => $("language").click(), d: () => $("theme").click(),
  };
  const act = keys[event.key];
  if (!act || (event.key === " " && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  act();
});
let resized = 0;
window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(showCall, 120); });

if (data.calls.length > 1) {
  $("pick").hidden = false;
  data.calls.forEach((call, number) => $("call").append(make("option", { value: number }, `${number}: ${call.title}`)));
}
theme();
words();
showCall();
