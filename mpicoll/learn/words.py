"""What the course says, in the languages that it speaks."""

from __future__ import annotations

import os

__all__ = ["PARTS", "checks", "language", "say"]

#: The parts of the course, by the hundreds of an exercise's order.
PARTS = {
    1: {"en": "Point to point", "zh": "点对点通信"},
    2: {"en": "Collectives by hand", "zh": "手写集合通信"},
    3: {"en": "Performance", "zh": "性能"},
    4: {"en": "Training large models", "zh": "大模型训练"},
}

WORDS = {
    "started": {
        "en": "{name}: {title}\n  in {folder}: README.md says what to do, {name}.py is yours to "
        "write.\n\nnext:\n  cd {folder}\n  mpicoll run --native -n 4 specification.py\n"
        "  mpicoll learn check {name}.py",
        "zh": "{name}：{title}\n  位于 {folder}：README.md 说明题目，{name}.py 由你来写。\n\n"
        "接下来：\n  cd {folder}\n  mpicoll run --native -n 4 specification.py\n"
        "  mpicoll learn check {name}.py",
    },
    "passed": {
        "en": "Passed: {points:.0f} of 100 points, after {attempts} attempt(s).",
        "zh": "通过：{points:.0f} 分（满分 100），共尝试 {attempts} 次。",
    },
    "not passed": {
        "en": "Not yet: {points:.0f} of 100 points.",
        "zh": "尚未通过：{points:.0f} 分（满分 100）。",
    },
    "after passing": {
        "en": "next:\n  mpicoll learn solution {name}     compare with a solution, and questions\n"
        "  mpicoll learn break {name}        predict what a bug does",
        "zh": "接下来：\n  mpicoll learn solution {name}     与参考解答比较，并有思考题\n"
        "  mpicoll learn break {name}        预测一个错误的后果",
    },
    "next exercise": {
        "en": "  mpicoll learn start {next}",
        "zh": "  mpicoll learn start {next}",
    },
    "after failing": {
        "en": "This is the first thing to look at. Mend it and check again. If you are stuck:\n"
        "  mpicoll learn hint {name}",
        "zh": "先看这一条。改好以后再检查一次。如果卡住了：\n  mpicoll learn hint {name}",
    },
    "waiting": {
        "en": "{count} more checks follow once this is right",
        "zh": "这一项正确之后，还有 {count} 项检查",
    },
    "more findings": {
        "en": "({count} more after this one; --all shows them)",
        "zh": "（后面还有 {count} 条；用 --all 显示）",
    },
    "hint": {"en": "hint {number} of {count}", "zh": "提示 {number}/{count}"},
    "no more hints": {
        "en": "That was the last hint. Talk it over with somebody, or look at the solution: "
        "mpicoll learn solution {name} --reveal",
        "zh": "提示到此为止。和别人讨论一下，或者看解答：mpicoll learn solution {name} --reveal",
    },
    "locked": {
        "en": "{name} is not passed yet, and this would give it away (--reveal shows it anyway)",
        "zh": "{name} 尚未通过，而这会泄露答案。加 --reveal 可强行查看",
    },
    "questions": {"en": "Questions", "zh": "思考题"},
    "part": {"en": "Part {number}: {title}", "zh": "第 {number} 部分：{title}"},
    "summary": {
        "en": "{passed} of {count} exercises passed, {started} under way",
        "zh": "共 {count} 题，已通过 {passed} 题，{started} 题进行中",
    },
    "is passed": {"en": "passed", "zh": "通过"},
    "is started": {"en": "started", "zh": "进行中"},
    "hints used": {"en": "{hints} hint(s)", "zh": "提示 {hints} 条"},
    "forgotten": {"en": "{name}: forgotten", "zh": "{name}：已清除记录"},
    "skeleton back": {
        "en": "{file} is the skeleton again; yours is kept as {kept}",
        "zh": "{file} 已恢复为骨架；你原来的文件保存为 {kept}",
    },
    "points": {"en": "points", "zh": "分"},
    "runs on": {"en": "on {size} ranks", "zh": "{size} 个进程"},
    "predict": {
        "en": "What happens? {choices}\n  mpicoll learn break {name} {bug} --predict {choice}",
        "zh": "会发生什么？{choices}\n  mpicoll learn break {name} {bug} --predict {choice}",
    },
    "ask": {"en": "What happens? {choices}: ", "zh": "会发生什么？{choices}："},
    "running": {"en": "running it ...", "zh": "正在运行……"},
    "right prediction": {
        "en": "You said: {predicted}. It did: {outcome}. Well predicted!",
        "zh": "你的预测：{predicted}。实际：{outcome}。预测正确！",
    },
    "wrong prediction": {
        "en": "You said: {predicted}. It did: {outcome}. Why?",
        "zh": "你的预测：{predicted}。实际：{outcome}。为什么？",
    },
    "not yet predicted": {"en": "not yet predicted", "zh": "尚未预测"},
    "you said": {"en": "you said {predicted}", "zh": "你的预测：{predicted}"},
    "no bugs": {"en": "{name} has no bugs to predict", "zh": "{name} 没有可预测的错误"},
}

OUTCOMES = {
    "right": {"en": "right: the results are as specified", "zh": "right：结果与规格相符"},
    "wrong": {"en": "wrong: it ends, with wrong results", "zh": "wrong：能结束，但结果错误"},
    "hang": {"en": "hang: it never ends", "zh": "hang：永远不结束"},
    "error": {"en": "error: it stops with an error", "zh": "error：报错停止"},
}

CHECKS_ZH = {
    "loads": "文件可以导入，并且含有该函数",
    "result": "对小规模的 int64 与 float64 数据，结果正确",
    "sizes": "对各种进程数都正确，无论是否为 2 的幂",
    "counts": "对各种长度（含 0、1、P-1、P、P+1）和二维数组都正确",
    "dtypes": "对各种数据类型都正确",
    "ops": "对各种运算都正确",
    "roots": "对每个根进程都正确",
    "input": "输入没有被改动，也没有多写别处",
    "repeat": "连续调用两次、某个进程迟到时仍然正确",
    "bits": "各进程的结果逐位相同",
    "structure": "轮数、消息数、元素数和通信对象符合算法",
    "messages": "只用点对点通信，请求全部完成，没有遗留消息",
    "safe": "即使每个发送都要等到接收方，也能结束",
    "speed": "与 mpicoll 自己的同一算法速度相当",
}


def language(wished: str | None = None) -> str:
    """The language to speak: the one that is wished, or zh if the locale is Chinese, or en."""
    if wished:
        return wished
    environment = os.environ
    named = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "zh" if named.lower().startswith("zh") else "en"


def say(what: str, speech: str, **values: object) -> str:
    """A sentence of the course in a language, with its values filled in."""
    return WORDS[what][speech].format(**values)


def checks(speech: str) -> dict[str, str]:
    """What each check of the grader means."""
    from mpicoll.grade.exercise import CHECKS

    return (
        {name: CHECKS_ZH.get(name, text) for name, text in CHECKS.items()}
        if (speech == "zh")
        else dict(CHECKS)
    )
