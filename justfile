# What is done every day, by name: `just` lists it. Each recipe is a step of .ci/run.

_list:
    @just --list --unsorted

# Everything that must pass (45 minutes with two cores), or the steps that are named
ci *steps:
    .ci/run {{ steps }}

# Format, lints, documentation of crates: before each commit
check:
    .ci/run format lint docs

# All tests
test:
    .ci/run test

# The Python package: types and tests of the wheel
python:
    .ci/run python

# What runs in browsers
web:
    .ci/run web

# The page on which scenarios run in a browser, into target/playground
playground:
    .ci/run playground

# The documentation as a site, into target/site, with its links checked
site:
    .ci/run site

# The tutorials, to the letter
tutorials:
    .ci/run tutorials

# What a packet costs in instructions, against what is kept
instructions:
    .ci/run instructions

# Attacks and properties with many cases, before a change is called done
campaigns:
    .ci/run campaigns

# New inputs for the fuzz targets, so many seconds for each
hunt seconds="300":
    HUNT_SECONDS={{ seconds }} .ci/run hunt

# The kernel modules, in virtual machines
kernel:
    .ci/run kernel
