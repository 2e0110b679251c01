// Every word of the page, in English and Chinese.
const WORDS = {
  en: {
    call: "Collective", steps: "Step by step", before: "before the first step",
    step: "step", of: "of", phase: "phase", first: "First step", back: "Step back",
    run: "Play", pause: "Pause", next: "Step forward", last: "Last step", jump: "Jump to a step",
    speed: "Speed", told: "What every rank does in this step",
    keys: "Keys: space plays and pauses, ← and → step, Home and End jump, + and − change the speed, L the language, D dark and light.",
    complete: "complete", partial: "partial or on its way", wrong: "wrong", fresh: "changed in this step",
    empty: "empty", chunk: "chunk", from: "of", contributors: "contributors",
    timeline: "Where the time went", timelineHelp: "Measured on every rank. Lines are messages, from the sender's post to the receiver's end; the thick line is the critical path. The shaded band is the step shown above.",
    post: "posting", wait: "waiting for another rank", transfer: "transfer", local: "combining and copying",
    path: "critical path", message: "message", ranks: "Ranks", matrix: "Who sent how much to whom",
    matrixHelp: "Rows send, columns receive; bytes.", rank: "rank", messages: "messages", sent: "sent",
    received: "received", time: "time", waiting: "waiting", dark: "Dark", light: "Light", other: "中文",
    bytes: "bytes", to: "to", took: "took", longest: "longest wait", full: "Up to 16 ranks are shown step by step; this call has more.",
    unknown: "This collective's plan is no algorithm's, so its chunks are not known: see the messages below.",
    leftOut: "calls are left out (not whole, or too many for one page).",
    dropped: "records were dropped by the ring buffers.",
    footer: "Messages, bytes and times were recorded in a real run; what chunks hold follows from the algorithm's plan, with which the run was compared.",
    receives: "receives", sends: "sends", word: "word", nothing: "nothing",
  },
  zh: {
    call: "集合通信", steps: "逐步演示", before: "第一步之前",
    step: "第", of: "步，共", phase: "阶段", first: "第一步", back: "后退一步",
    run: "播放", pause: "暂停", next: "前进一步", last: "最后一步", jump: "跳到某一步",
    speed: "速度", told: "本步中每个进程做什么",
    keys: "按键：空格播放或暂停，← → 单步，Home 与 End 跳到首尾，+ 与 − 调速，L 切换语言，D 切换深浅色。",
    complete: "已完成", partial: "未完成或在途", wrong: "错误", fresh: "本步改变",
    empty: "空", chunk: "块", from: "共", contributors: "个贡献者",
    timeline: "时间花在哪里", timelineHelp: "各进程实测。线条是消息，从发送方发出到接收方收完；粗线是关键路径。阴影是上方所示的步骤。",
    post: "发起消息", wait: "等待其他进程", transfer: "传输", local: "归约与复制",
    path: "关键路径", message: "消息", ranks: "各进程", matrix: "谁向谁发送了多少",
    matrixHelp: "行为发送方，列为接收方；单位字节。", rank: "进程", messages: "消息数", sent: "发送",
    received: "接收", time: "用时", waiting: "等待", dark: "深色", light: "浅色", other: "English",
    bytes: "字节", to: "到", took: "用时", longest: "最长等待", full: "16 个进程以内可逐步演示；此次调用的进程更多。",
    unknown: "此操作没有对应的算法计划，块的内容未知：请看下面的消息。",
    leftOut: "次调用未显示（记录不全，或一页容纳不下）。",
    dropped: "条记录被环形缓冲区丢弃。",
    footer: "消息、字节数与时间来自真实运行的记录；块的内容由算法计划推出，并已与运行核对。",
    receives: "接收", sends: "发送", word: "信号", nothing: "无",
  },
};
const say = (name) => WORDS[state.language][name] ?? name;

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${+bytes.toPrecision(3)} ${units[unit]}`;
}

function timeText(ns) {
  if (ns >= 1e9) return `${+(ns / 1e9).toPrecision(3)} s`;
  if (ns >= 1e6) return `${+(ns / 1e6).toPrecision(3)} ms`;
  return `${+(ns / 1e3).toPrecision(3)} µs`;
}

// The plan's words for what a rank does in a step, in the language of the page.
function lineText(text) {
  if (state.language === "en") return text;
  return text.replace(/receives/g, "接收").replace(/sends/g, "发送").replace(/chunk (\d+)/g, "块 $1")
    .replace(/word from (\d+)/g, "进程 $1 的信号").replace(/word to (\d+)/g, "信号到进程 $1");
}
