// What every bundle that has uPlot in it says: uPlot's licence asks for it.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const licence = await readFile(join(here, "node_modules/uplot/LICENSE"), "utf8");

/** A comment for the head of a bundle. */
export const banner = `/*! With uPlot (https://github.com/leeoniya/uPlot):\n${licence.trim()}\n*/`;
