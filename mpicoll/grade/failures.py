"""Why a case did not end: an exception, a rank that is gone, or ranks that wait for each other."""

from __future__ import annotations

import re
from typing import Any

from mpicoll.diagnosis.states import Collective, Message, Place, RankState
from mpicoll.diagnosis.waits import explain
from mpicoll.grade.cases import Case
from mpicoll.grade.errors import explain_error
from mpicoll.grade.exercise import Exercise
from mpicoll.grade.finding import Finding
from mpicoll.grade.job import Answers
from mpicoll.grade.messages import Traffic, traffic
from mpicoll.grade.submission import Submission
from mpicoll.launch.stacks import ranks_text

__all__ = ["explain_failure", "flows", "operations", "states_of"]


def operations(found: Answers) -> dict[int, list[dict[str, Any]]]:
    """What the ranks did, those that did not come back included."""
    known = {rank: answer.get("ops", []) for rank, answer in found.answers.items()}
    return known | {rank: state.get("ops", []) for rank, state in found.states.items()}


def states_of(found: Answers, seen: Traffic, file: str) -> list[RankState]:
    """The ranks' states as `mpicoll.diagnosis` reads them."""
    lonely: dict[int, list[Message]] = {}
    for pair in seen.sends:
        if pair.send["done"] is not None:
            lonely.setdefault(pair.source, []).append(_message(pair.send, file))
    # A send whose message has arrived is no reason to wait any more.
    met = {(p.source, p.send["id"]) for p in seen.pairs if p.recv["done"] is not None}
    states = []
    for rank in sorted({*found.answers, *found.states, *found.gone}):
        unreceived, state = tuple(lonely.get(rank, ())), found.states.get(rank)
        if state is None:
            ended = rank not in found.gone and not found.answers[rank].get("error")
            kind = "finished" if ended else "failed"
            history = _history(found.answers.get(rank, {}).get("ops", []), file)
            states.append(RankState(rank, kind, unreceived=unreceived, history=history))
            continue
        current, ops = state.get("current"), state.get("ops", [])
        where = Place(file, state.get("line", 0), state.get("function", ""))
        inside = set(current["ops"]) if current else set()
        open_ones = [o for o in ops if _open(o) and (rank, o["id"]) not in met]
        states.append(
            RankState(
                rank,
                "blocked" if current else "running",
                where,
                current["call"] if current else "",
                tuple(_wait(o, file) for o in open_ones if o["id"] in inside),
                bool(current and current["any"]),
                tuple(_wait(o, file) for o in open_ones if o["id"] not in inside),
                unreceived,
                _history(ops, file),
            )
        )
    return states


def _open(op: dict[str, Any]) -> bool:
    return op["done"] is None and not op.get("failed")


def _wait(op: dict[str, Any], file: str) -> Message | Collective:
    return _collective(op, file) if op["kind"] == "collective" else _message(op, file)


def _message(op: dict[str, Any], file: str) -> Message:
    where = Place(file, op["line"], op["function"]) if op["line"] else None
    kind = op["kind"] if op["kind"] in ("send", "recv", "probe") else "recv"
    # Objects and buffers never meet.
    comm = op["comm"] + (", objects" if op.get("comm_kind") == "objects" else "")
    return Message(kind, op["peer"], op["tag"], op.get("nbytes"), comm, op["call"], where)


def _collective(op: dict[str, Any], file: str) -> Collective:
    where = Place(file, op["line"], op["function"])
    members = tuple(op["members"])
    return Collective(op["call"], op["number"], members, op["comm"], op["arguments"], where)


def _history(ops: list[dict[str, Any]], file: str) -> tuple[Collective, ...]:
    return tuple(_collective(o, file) for o in ops if o["kind"] == "collective" and "members" in o)


def flows(found: Answers) -> bool:
    """Whether some silent rank can still go on by itself."""
    seen = traffic(operations(found))
    report = explain(states_of(found, seen, ""))
    return not set(found.states) <= set(report.stuck)


def explain_failure(
    exercise: Exercise, case: Case, found: Answers, text: Submission
) -> list[Finding]:
    """Name the cause: what failed first, or why nobody goes on."""
    check = case.check
    seen = traffic(operations(found))
    errors = {r: a["error"] for r, a in found.answers.items() if a.get("error")}
    if errors:
        return explain_error(exercise, case, found, seen, errors, text)
    if found.gone:
        where = _last_lines(found, text)
        what = "it called os._exit, was killed, or crashed inside MPI"
        dropped = _dropped(found, seen)
        # The launcher ends the others as soon as one is gone.
        said = f"rank {found.gone[0]} ended in the middle of the call: {what}"
        return [Finding(check, "rank-gone", said + dropped, found.gone[0], 0, case, where)]
    report = explain(states_of(found, seen, str(text.path)))
    details = tuple(_own_words(line, text) for line in report.text().splitlines())
    details += _last_lines(found, text)
    remarks = [r for s in found.states.values() for r in s.get("remarks", [])]
    code, said, rank, line = _cause(case, found, seen, text)
    kinds = {f.kind for f in report.findings}
    if code == "hang" and "collectives" in kinds:
        first = next(f for f in report.findings if f.kind == "collectives")
        code, said = _disagreement(first.text), _own_words(first.text.splitlines()[0], text)
    elif code == "hang" and "missing" in kinds:
        first = next(f for f in report.findings if f.kind == "missing")
        code, said = "collective-missing", _own_words(first.text.splitlines()[0], text)
    for remark in remarks:
        details += (f"also, line {remark['line']}: {remark['text']}",)
    return [Finding(check, code, said, rank, line, case, details)]


def _disagreement(text: str) -> str:
    words = (("root", "different-roots"), ("order", "collective-order"))
    return next((code for word, code in words if word in text), "collective-mismatch")


def _own_words(line: str, text: Submission) -> str:
    line = line.replace("has finished its program", "has returned from the function")
    return re.sub(r"\S*" + re.escape(text.path.name) + r":(\d+)", r"line \1", line)


def _last_lines(found: Answers, text: Submission) -> tuple[str, ...]:
    """Where every silent rank is."""
    lines = []
    for rank, state in sorted(found.states.items()):
        at = text.at(state.get("line", 0)) or "not in the submission"
        lines.append(f"rank {rank} is at {at}" if state else f"rank {rank} does not answer")
    return tuple(lines)


def _dropped(found: Answers, seen: Traffic) -> str:
    for rank, ops in operations(found).items():
        for op in ops:
            if op.get("immediate") and op["done"] is None and op["kind"] == "send":
                return (
                    f"; rank {rank} has an {op['call']} (line {op['line']}) that nobody waited for"
                )
    return ""


def _cause(
    case: Case, found: Answers, seen: Traffic, text: Submission
) -> tuple[str, str, int, int]:
    """The code and sentence for ranks that do not come back; who, and which line."""
    waiting = [(p.target, p.recv) for p in seen.receives]
    lost = [(p.source, p.target, p.send) for p in seen.sends]
    blocked = {rank: s["current"] for rank, s in found.states.items() if s.get("current")}
    busy = [rank for rank, s in found.states.items() if not s.get("current")]
    for target, want in waiting:
        for source, to, send in lost:
            objects = send.get("comm_kind") == "objects", want.get("comm_kind") == "objects"
            if to != target or want["peer"] not in (None, source):
                continue
            if objects[0] != objects[1]:
                said = (
                    f"rank {source} sends with {send['call']} (line {send['line']}), and rank "
                    f"{target} receives with {want['call']} (line {want['line']}): lower-case "
                    "methods pickle objects, upper-case ones move buffers; the two never fit"
                )
                return "mixed-case", said, target, want["line"]
            if want["tag"] not in (None, send["tag"]):
                said = (
                    f"rank {source} sent tag {send['tag']} (line {send['line']}), rank {target} "
                    f"waits for tag {want['tag']} (line {want['line']})"
                )
                return "tag-mismatch", said, target, want["line"]
    sends = [r for r, c in blocked.items() if _only(found, r, "send")]
    recvs = [r for r, c in blocked.items() if _only(found, r, "recv")]
    if sends and not lost and not waiting:
        sends = []
    if len(sends) >= 2 and len(sends) == len(found.states):
        line = blocked[sends[0]]["line"]
        why = (
            "here every send waits for its receive, as MPI does for long messages; with short ones "
            "it works only because MPI keeps a copy"
            if case.sync
            else "messages of this length are not copied by MPI, so every send waits for its "
            "receive"
        )
        said = (
            f"{ranks_text(sends)} all send first (line {line}), and nobody receives: {why}. Use "
            "Sendrecv, or Isend with a wait, or let odd ranks receive first"
        )
        return "send-first", said, sends[0], line
    if len(recvs) == case.size and not lost:
        line = blocked[recvs[0]]["line"]
        said = f"all ranks receive first (line {line}), so nobody has sent anything"
        return "receive-first", said, recvs[0], line
    for target, want in waiting:
        for source, to, send in lost:
            wrong_source = to == target and want["peer"] not in (None, source)
            wrong_target = to != target and want["peer"] == source
            if wrong_source or wrong_target:
                said = (
                    f"rank {source} sends to rank {to} (line {send['line']}), while rank {target} "
                    f"waits for a message from rank {want['peer']} (line {want['line']})"
                )
                return "peer-mismatch", said, target, want["line"]
    for target, want in waiting:
        source = want["peer"]
        if source is not None and source in found.answers:
            said = (
                f"rank {target} waits for a message from rank {source} (line {want['line']}), "
                f"which has returned from the function without sending it"
            )
            return "missing-send", said, target, want["line"]
    for source, target, send in lost:
        if target in found.answers and source in blocked:
            said = (
                f"rank {source} waits until rank {target} receives (line {send['line']}), but that "
                "has returned from the function without receiving it"
            )
            return "missing-receive", said, source, send["line"]
    if busy and found.late:
        rank = busy[0]
        line = found.states[rank].get("line", 0)
        said = (
            f"{ranks_text(busy)} did not come to an end, and is not waiting for a message: "
            f"{text.at(line) or 'outside the submission'}. An endless loop, or far too slow"
        )
        return "endless", said, rank, line
    first = min(found.states, default=-1)
    line = found.states[first].get("line", 0) if first >= 0 else 0
    return "hang", f"{ranks_text(sorted(found.states))} wait and cannot go on", first, line


def _only(found: Answers, rank: int, kind: str) -> bool:
    """Whether a rank is inside a call that waits for sends only, or for receives only."""
    state = found.states[rank]
    ops = {o["id"]: o for o in state.get("ops", [])}
    inside = [ops[i] for i in state["current"]["ops"] if i in ops and ops[i]["done"] is None]
    return bool(inside) and all(o["kind"] == kind for o in inside)
