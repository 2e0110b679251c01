"""The page of a trace in a real browser: what it shows in every step, its keys, its silence."""

import os
import re
from pathlib import Path

import pytest
from browser import CHROMIUM, DRIVER, Browser
from made import made
from reference import ROWS, spelled

from mpicoll.__main__ import main
from mpicoll.trace.merge import merge
from mpicoll.trace.page import page

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Chromium and its driver: apt install chromium-driver"
)

PICTURES = Path(os.environ.get("MPICOLL_SCREENSHOTS", Path(__file__).parents[2] / "build/pages"))
HOLDS = """return [...document.querySelectorAll('.rank')].map(rank =>
    [...rank.querySelectorAll('.chunk')].map(
        chunk => [chunk.dataset.value, chunk.dataset.state]))"""
LINES = """return [...document.querySelectorAll('[data-line]')].map(line =>
    line.textContent.replace(/^rank \\d+ /, ''))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "ring.html"
    assert main(["trace", "allreduce", "ring", "-n", "4", "--html", str(path)]) == 0
    return path


def made_page(tmp_path, collective, name, size, **more):
    path = tmp_path / f"{collective}-{name}-{size}.html"
    path.write_text(page(merge(made(collective, name, size, **more))), encoding="utf-8")
    return path


def after_reference(step):
    """What the reference says that chunks hold after so many steps."""
    held = [[f"{letter}{chunk}" for chunk in range(4)] for letter in "ABCD"]
    for number, rank, row in ROWS:
        if number < step:
            new = re.search(r"chunk (\d) = (.*)$", row)
            if new:
                held[rank][int(new[1])] = new[2]
            else:
                value = re.search(r"receives ([^,]+)", row)[1]
                held[rank][int(value[1])] = value
    return held


def test_every_step_of_the_ring_shows_what_the_reference_says(browser, ring):
    browser.requests()
    browser.open(ring)
    browser.resize(1280, 900)
    for step in range(7):
        shown = browser.run(HOLDS)
        assert [[value for value, _ in rank] for rank in shown] == after_reference(step)
        complete = {spelled(f"S{number}") for number in range(4)}
        for value, state in (chunk for rank in shown for chunk in rank):
            assert state == ("complete" if value in complete else "partial")
        if step:
            assert browser.run(LINES) == [row for number, _, row in ROWS if number == step - 1]
            counter = browser.run("return document.getElementById('counter').textContent")
            assert f"step {step} of 6" in counter
            phase = "1/2: ring_reduce_scatter" if step <= 3 else "2/2: ring_allgather"
            assert phase in counter
            assert browser.run("return stage.moves.length") == 4
        browser.press("\ue014")  # the right arrow
    assert browser.complaints() == []
    assert browser.requests() == [ring.absolute().as_uri()]
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_playing_comes_to_the_end(browser, ring):
    browser.open(ring)
    browser.run("faster(2)")
    browser.press(" ")
    assert browser.run("return state.playing")
    browser.until("return state.step === 6 && !state.playing", 60)
    states = {state for rank in browser.run(HOLDS) for _, state in rank}
    assert states == {"complete"}


def test_keys_and_switches(browser, ring):
    browser.open(ring)
    for key, step in (("\ue010", 6), ("\ue012", 5), ("\ue011", 0), ("\ue012", 0)):
        browser.press(key)
        assert browser.run("return state.step") == step
    browser.press("l")
    assert "逐步演示" in browser.run("return document.body.innerText")
    assert browser.run("return document.documentElement.lang") == "zh-CN"
    dark = browser.run("return document.documentElement.dataset.theme")
    browser.press("d")
    assert browser.run("return document.documentElement.dataset.theme") != dark
    browser.run("document.getElementById('jump').value = 4; jump.oninput({target: jump})")
    assert browser.run("return state.step") == 4
    assert browser.complaints() == []


def test_everything_has_a_name_and_both_languages_have_all_words(browser, ring):
    browser.open(ring)
    nameless = """
        const named = (node) => node.getAttribute('aria-label') || node.textContent.trim()
            || node.labels?.length || node.getAttribute('aria-labelledby')
            || node.getAttribute('role') === 'group';
        return [...document.querySelectorAll('button, select, input, [role]')]
            .filter(node => !named(node)).length"""
    assert browser.run(nameless) == 0
    assert browser.run("return Object.keys(WORDS.en).join() === Object.keys(WORDS.zh).join()")


@pytest.mark.parametrize("size", (2, 4, 8, 16, 64))
@pytest.mark.parametrize("width", (1280, 400))
def test_it_fits(browser, tmp_path, size, width):
    browser.open(made_page(tmp_path, "allreduce", "ring", size))
    browser.resize(width, 900)
    browser.press("\ue014")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    height = browser.run("return document.documentElement.scrollHeight")
    browser.resize(width, min(height, 4000))
    browser.picture(PICTURES / f"ring-{size}-{width}.png")
    assert browser.complaints() == []
    hidden = browser.run("return document.getElementById('play').hidden")
    assert hidden == (size > 16)
    rows = browser.run("return document.querySelectorAll('#ranks tr').length")
    assert rows == size + 1


def test_wrong_contents_are_marked(browser, tmp_path):
    text = made_page(tmp_path, "allreduce", "ring", 4).read_text(encoding="utf-8")
    # The last state of rank 0's chunk 0, as a broken algorithm would leave it.
    broken = text.replace('["ADCB","A0+D0+C0+B0","complete",4]', '["AD","A0+D0","wrong",2]')
    assert broken != text
    path = tmp_path / "broken.html"
    path.write_text(broken, encoding="utf-8")
    browser.open(path)
    browser.press("\ue010")
    assert ["A0+D0", "wrong"] in browser.run(HOLDS)[0]
    label = "return document.querySelector('.chunk.wrong[role]').getAttribute('aria-label')"
    assert browser.run(label) == "chunk 0: A0+D0, wrong, 2 / 4 contributors"


def test_text_from_a_trace_is_never_markup(browser, tmp_path):
    ranks = made("bcast", "binomial", 2)
    evil = "</script><script>document.title='evil'</script><img src=x onerror=alert(1)>"
    for rank in ranks:
        rank.calls[0]["where"] = rank.calls[0]["op"] = evil
        rank.library = evil
    path = tmp_path / "evil.html"
    path.write_text(page(merge(ranks)), encoding="utf-8")
    browser.open(path)
    assert evil in browser.run("return document.getElementById('about').textContent")
    assert "evil" not in browser.run("return document.title")
    assert browser.run("return document.images.length") == 0
    assert browser.complaints() == []
