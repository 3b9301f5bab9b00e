"""Emulations: a program behind the hop, what goes wrong, Ctrl-C, and the fixture."""

from __future__ import annotations

import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import lasthop

Hop = Callable[..., lasthop.EmulatedRun]

PROGRAM = """
import os, socket, sys
print(os.environ["LASTHOP_SERVER_ADDR"], socket.gethostbyname("server"))
print("all is well", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def program(status: int) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(status)]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; empty again when the test ends."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(scratch))
    return scratch


def test_a_program_behind_the_hop(wifi_hop: Hop, scratch: Path) -> None:
    run = wifi_hop(place="home", command=program(3), set={"seed": 7})
    address, by_name = run.stdout.split()
    assert address == by_name
    assert (run.returncode, run.stderr) == (3, "all is well\n")
    assert (run.summary["scenario"], run.summary["seed"]) == ("home", 7)
    assert {"ap", "laptop"} <= run.summary["nodes"].keys()
    assert run.late == run.summary["emulation"]["late"]
    assert "all is well" not in run.report and "Nodes" in run.report
    assert repr(run).startswith("<lasthop.EmulatedRun of 'home': ") and "status 3" in repr(run)
    assert list(scratch.iterdir()) == []


def test_what_is_asked_for(wifi_hop: Hop, root: Path) -> None:
    file = root / "scenarios/hello.toml"
    for scenario in (file, str(file), "hello", lasthop.Scenario.load(file)):
        run = wifi_hop(scenario, duration=0.2)
        assert run.summary["scenario"] == "hello" and "up" in run.summary["flows"]
        assert 0.2 <= run.summary["duration_s"] < 2
        assert (run.command, run.returncode, run.stdout, run.stderr) == ((), 0, "", "")
    run = wifi_hop("hello", "echo $LASTHOP_AP_ADDR; echo $0 >&2", duration="5s", in_node="ap")
    assert re.fullmatch(r"[0-9.]+\n", run.stdout) and run.stderr.endswith("sh\n")


def test_a_command_that_fails(wifi_hop: Hop, scratch: Path) -> None:
    with pytest.raises(lasthop.CommandFailed, match="status 4: all is well") as failed:
        wifi_hop(place="home", command=program(4), check=True)
    assert failed.value.run.returncode == 4 and failed.value.run.summary["scenario"] == "home"
    killed = wifi_hop("hello", "kill -TERM $$")
    assert killed.returncode == 128 + signal.SIGTERM
    assert list(scratch.iterdir()) == []


def test_what_cannot_be(scratch: Path, root: Path) -> None:
    for scenario, place in ((None, None), ("hello", "cafe")):
        with pytest.raises(TypeError, match="not both"):
            lasthop.emulate(scenario, place=place)
    with pytest.raises(lasthop.EmulateError, match='did you mean "places/cafe"'):
        lasthop.emulate(place="caffe")
    with pytest.raises(lasthop.EmulateError, match='did you mean "hello"'):
        lasthop.emulate("helo")
    with pytest.raises(lasthop.ScenarioError, match="cannot be read|no such file"):
        lasthop.emulate(root / "nothing.toml")
    with pytest.raises(lasthop.ScenarioError) as wrong:
        lasthop.emulate("hello", set={"node.laptop.queue.packets": -1})
    assert wrong.value.problems[0].key == "node.laptop.queue.packets"
    with pytest.raises(FileNotFoundError, match="no program 'no-such-program'"):
        lasthop.emulate("hello", ["no-such-program"])
    with pytest.raises(ValueError, match="empty command"):
        lasthop.emulate("hello", [])
    with pytest.raises(TypeError, match="there is none"):
        lasthop.emulate("hello", in_node="ap")
    assert list(scratch.iterdir()) == []


def test_what_the_command_refuses(wifi_hop: Hop, scratch: Path) -> None:
    with pytest.raises(lasthop.EmulateError, match="labtop"):
        wifi_hop("hello", ["true"], in_node="labtop")
    with pytest.raises(lasthop.EmulateError, match="-5"):
        wifi_hop("hello", ["true"], duration=-5)
    assert list(scratch.iterdir()) == []


def test_ctrl_c_leaves_nothing(wifi_hop: Hop, tmp_path: Path) -> None:
    del wifi_hop
    mark = f"{60 + os.getpid() / 1e7:.7f}"
    script = f"import lasthop; lasthop.emulate('hello', ['sleep', '{mark}'])"
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": os.fspath(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        # As in a terminal: what a shell starts in the background ignores SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )

    def is_there() -> bool:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            # Others end while this looks at them.
            with suppress(OSError):
                if path.read_bytes() == f"sleep\0{mark}\0".encode():
                    return True
        return False

    end = time.monotonic() + 30
    while not is_there() and time.monotonic() < end:
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.05)
    # To this process alone, not to the group: it has to tell the command.
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not is_there() and list(tmp_path.iterdir()) == []


def inner(folder: Path, *arguments: str) -> str:
    """What pytest prints for the tests in a folder."""
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *arguments, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def test_the_example_of_the_page_passes(wifi_hop: Hop, root: Path, tmp_path: Path) -> None:
    del wifi_hop
    page = (root / "docs/testing.md").read_text(encoding="utf-8")
    example, _service = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    quick = example.replace(', "train"]', "]")
    assert quick != example, "an emulation on the train may meet a tunnel"
    (tmp_path / "test_page.py").write_text(quick)
    told = inner(tmp_path)
    # On a busy machine the last one is skipped.
    assert re.search("= 3 passed in|= 2 passed, 1 skipped in", told), told


def test_the_example_with_a_service_passes(wifi_hop: Hop, root: Path, tmp_path: Path) -> None:
    del wifi_hop
    page = (root / "docs/testing.md").read_text(encoding="utf-8")
    _, example = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "test_page.py").write_text(example.replace("3000", str(server.server_port)))
        told = inner(tmp_path)
        server.shutdown()
    assert "= 1 passed in" in told, told


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers every GET."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing."""


REFUSED = """
import lasthop, pytest

@pytest.fixture(autouse=True, scope="session")
def refused():
    def emulate(*_, **__):
        raise lasthop.EmulateRefused("cannot emulate here: it is a test")
    lasthop.emulate = emulate
"""


def test_where_namespaces_are_refused(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(REFUSED)
    (tmp_path / "test_it.py").write_text("def test_it(wifi_hop): wifi_hop('hello')\n")
    told = inner(tmp_path)
    assert "1 skipped" in told and "cannot emulate here: it is a test" in told, told
    told = inner(tmp_path, "--wifi-hop-required")
    assert "1 error" in told and "cannot emulate here: it is a test" in told, told


def test_ways_seed_files_and_what_is_expected(wifi_hop: Hop, tmp_path: Path) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    ask = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=9).status)"
    command = [sys.executable, "-c", ask, f"http://host.lasthop:{port}/"]
    out = tmp_path / "files"
    run = wifi_hop(
        "hello", command, set={"flow": []}, reach=port, seed=9, out=out,
        expect=["program.*.packets_lost < 100"], check=True,
    )  # fmt: skip
    assert (run.stdout, run.summary["seed"]) == ("204\n", 9)
    assert run.summary["emulation"]["ways"][f"--reach {port}"]["connections"] == 1
    assert {"run.json", "scenario.toml", "report.html"} <= {file.name for file in out.iterdir()}
    server.shutdown()

    with pytest.raises(lasthop.ExpectationFailed) as failed:
        wifi_hop("hello", duration=0.3, expect="flow.up.goodput_mbps > 9000")
    assert isinstance(failed.value, AssertionError)
    assert "flow.up.goodput_mbps > 9000: not met" in str(failed.value)
    assert failed.value.run.summary["scenario"] == "hello" and len(failed.value.failures) == 1
    with pytest.raises(lasthop.EmulateError, match="published twice"):
        wifi_hop("hello", duration=0.3, publish=[18097, "18097:ap:80"])
    with pytest.raises(lasthop.EmulateError, match="give one of these"):
        wifi_hop("hello", duration=0.3, outside_at="ap")
