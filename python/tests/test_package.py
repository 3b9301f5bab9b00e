"""The package as a whole: the command in it, its types and documentation, the examples."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

import lasthop
from lasthop import _lasthop


def test_versions_agree(command: Path) -> None:
    printed = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert printed.stdout.split() == ["lasthop", lasthop.__version__]
    assert version("lasthop") == lasthop.__version__


def test_the_command_ends_as_a_command(command: Path, root: Path) -> None:
    wrong = subprocess.run([command, "simulate", "nothing.toml"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nothing.toml" in wrong.stderr
    file = root / "scenarios/hello.toml"
    long = subprocess.Popen(
        [command, "simulate", file, "--set", "duration=1h"], stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    long.send_signal(signal.SIGINT)
    _, errors = long.communicate(timeout=30)
    assert (long.returncode, errors) == (128 + signal.SIGINT, "interrupted\n")


def test_the_command_is_the_program_itself(command: Path) -> None:
    """Not a script of Python's: nothing of it may depend on what an interpreter did before."""
    assert command.read_bytes()[:4] == b"\x7fELF"


def test_nothing_else_is_imported() -> None:
    program = (
        "import sys; before = set(sys.modules); import lasthop, lasthop.figures, lasthop.rlnc\n"
        "roots = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(roots - set(sys.stdlib_module_names)))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert output.stdout.split() == ["lasthop"], output.stderr


def documented() -> dict[str, str]:
    """The docstrings of the stubs by name."""
    stubs = Path(lasthop.__file__).with_name("_lasthop.pyi")
    found: dict[str, str] = {}
    for node in ast.parse(stubs.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in [node, *node.body]:
                if isinstance(inner, (ast.ClassDef, ast.FunctionDef)):
                    name = node.name if inner is node else f"{node.name}.{inner.name}"
                    found[name] = ast.get_docstring(inner) or ""
    return found


def test_stubs_and_module_say_the_same() -> None:
    stubs = documented()
    assert len(stubs) > 60
    for name, text in stubs.items():
        owner, _, member = name.partition(".")
        there = getattr(_lasthop, owner)
        there = getattr(there, member) if member else there
        if text:
            assert inspect.getdoc(there) == text, name
    for owner, kind in vars(_lasthop).items():
        if inspect.isclass(kind):
            members = {m for m in vars(kind) if not m.startswith("__")}
            assert {f"{owner}.{member}" for member in members} <= stubs.keys(), owner


def test_every_public_name_is_documented() -> None:
    import lasthop.figures
    import lasthop.rlnc
    import lasthop.testing

    for module in (lasthop, lasthop.figures, lasthop.rlnc, lasthop.testing):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), name


def examples() -> list[tuple[int, str]]:
    text = (Path(__file__).parents[2] / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: block.start()].count("\n") + 1, block[1]) for block in blocks]


@pytest.mark.parametrize(("line", "code"), examples())
def test_an_example_of_the_page_runs(
    line: int, code: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = re.findall(r"^import (polars|duckdb|pandas|numpy|pyarrow|gymnasium)", code, re.MULTILINE)
    if ".plot(" in code:
        needs.append("matplotlib")
    for name in needs:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the example needs {name}")
    os.symlink(root / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * line + code, "docs/python.md", "exec"), {})


def test_the_page_has_examples() -> None:
    assert len(examples()) >= 5


def test_names_in_tracebacks_are_those_of_the_package() -> None:
    public = [getattr(lasthop, name) for name in lasthop.__all__]
    for one in public:
        if inspect.isclass(one):
            assert one.__module__ == "lasthop", one
    with pytest.raises(lasthop.ScenarioError) as raised:
        lasthop.Scenario.parse("duration = 1")
    assert f"{raised.type.__module__}.{raised.type.__qualname__}" == "lasthop.ScenarioError"
