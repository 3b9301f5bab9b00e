"""What a program is made of, as CycloneDX 1.6 (JSON).

    python3 dist/sbom.py METADATA LOCK PROGRAM > FILE

METADATA is what `cargo metadata --filter-platform` prints, LOCK is Cargo.lock, which has the
hashes. Only what PROGRAM links is listed: dependencies of builds and tests are left out. The time
is SOURCE_DATE_EPOCH, and the serial number follows from the content, so that the same inputs give
the same bytes. Needs cyclonedx-python-lib.
"""

import hashlib
import json
import os
import sys
import tomllib
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL


def linked(metadata: dict[str, Any], root: str) -> dict[str, list[str]]:
    """What `root` links, by package id, with what each of them links."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    macros = {
        package["id"]
        for package in metadata["packages"]
        if any("proc-macro" in target["kind"] for target in package["targets"])
    }

    def normal(node: dict[str, Any]) -> Iterator[str]:
        for dependency in node["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                if dependency["pkg"] not in macros:
                    yield dependency["pkg"]

    found: dict[str, list[str]] = {}
    open_ids = [root]
    while open_ids:
        at = open_ids.pop()
        if at not in found:
            found[at] = sorted(normal(nodes[at]))
            open_ids.extend(found[at])
    return found


def main() -> None:
    metadata_file, lock_file, program = sys.argv[1:]
    with open(metadata_file, encoding="utf-8") as file:
        metadata = json.load(file)
    with open(lock_file, "rb") as lock:
        hashes = {
            (package["name"], package["version"]): package.get("checksum")
            for package in tomllib.load(lock)["package"]
        }
    packages = {package["id"]: package for package in metadata["packages"]}
    root = next(package["id"] for package in metadata["packages"] if package["name"] == program)
    graph = linked(metadata, root)
    licences = LicenseFactory()

    components: dict[str, Component] = {}
    for package_id in sorted(graph, key=lambda it: (packages[it]["name"], packages[it]["version"])):
        package = packages[package_id]
        name, version = package["name"], package["version"]
        checksum = hashes.get((name, version))
        # Some still separate alternatives by a slash.
        licence = (package["license"] or "").replace("/", " OR ")
        purl = PackageURL("cargo", name=name, version=version) if checksum else None
        components[package_id] = Component(
            type=ComponentType.APPLICATION if package_id == root else ComponentType.LIBRARY,
            name=name,
            version=version,
            bom_ref=f"{name}@{version}",
            description=package["description"],
            licenses=[licences.make_with_expression(licence)] if licence else [],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
            purl=purl,
        )

    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    bom = Bom(components=[it for key, it in components.items() if key != root])
    bom.metadata.component = components[root]
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, tz=timezone.utc)
    for package_id, needs in graph.items():
        bom.register_dependency(components[package_id], [components[it] for it in needs])
    names = "\n".join(sorted(f"{it.bom_ref.value} {it.purl}" for it in components.values()))
    bom.serial_number = uuid.UUID(bytes=hashlib.sha256(names.encode()).digest()[:16], version=4)
    print(JsonV1Dot6(bom).output_as_string(indent=2))


if __name__ == "__main__":
    main()
