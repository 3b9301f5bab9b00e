"""Writes the types of a run's summary, ``lasthop/summary.py``, from its JSON Schema.

    python python/tools/summary.py > python/lasthop/summary.py

A test compares it. Python 3.10 has no ``NotRequired``, so keys that may be absent are in a
class derived from one with the keys that are always present.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

WIDTH = 100
NUMBERS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def kind(schema: dict[str, Any]) -> str:
    """Returns the type of a present value: one that does not apply is absent, never null."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return next(kind(choice) for choice in schema["anyOf"] if choice != {"type": "null"})
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    (name,) = (name for name in types if name != "null")
    if name == "array":
        return f"list[{kind(schema['items'])}]"
    if name == "object":
        return f"dict[str, {kind(schema['additionalProperties'])}]"
    return NUMBERS[name]


def documentation(schema: dict[str, Any]) -> list[str]:
    text = " ".join(schema.get("description", "").split())
    lines = textwrap.wrap(f'"""{text}"""', WIDTH - 4, break_long_words=False)
    return [f"    {line}" for line in lines] if text else []


def class_lines(name: str, base: str, keys: dict[str, Any], total: bool) -> list[str]:
    lines = [f"class {name}({base}{'' if total else ', total=False'}):"]
    for key, schema in keys.items():
        lines += [f"    {key}: {kind(schema)}", *documentation(schema)]
    return lines


def type_lines(name: str, schema: dict[str, Any]) -> list[str]:
    if "oneOf" in schema or "enum" in schema:
        values = schema.get("enum") or [choice["const"] for choice in schema["oneOf"]]
        literals = ", ".join(json.dumps(value) for value in values)
        return [f"{name} = Literal[{literals}]", *(line[4:] for line in documentation(schema))]
    keys = schema["properties"]
    always = {key: keys[key] for key in schema.get("required", [])}
    others = {key: value for key, value in keys.items() if key not in always}
    about = documentation(schema)
    if not others:
        lines = class_lines(name, "TypedDict", always, True)
        return [lines[0], *about, "", *lines[1:]]
    if not always:
        lines = class_lines(name, "TypedDict", others, False)
        return [lines[0], *about, "", *lines[1:]]
    first = class_lines(f"_{name}", "TypedDict", always, True)
    second = class_lines(name, f"_{name}", others, False)
    return [*first, "", "", second[0], *about, "", *second[1:]]


def module(schema: dict[str, Any]) -> str:
    types = {**schema["$defs"], schema["title"]: schema}
    lines = [
        '"""The summary of a run, as types for a type checker: the type of ``Run.summary``.',
        "",
        "Made by ``python/tools/summary.py`` from the JSON Schema that ``lasthop schema run`` prints.",
        "A value that does not apply is absent, never None. Units are in the names.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Literal, TypedDict",
    ]
    for name, definition in types.items():
        lines += ["", "", *type_lines(name, definition)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from lasthop import _lasthop

    print(module(json.loads(_lasthop.run_schema)), end="")
