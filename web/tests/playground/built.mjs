// Where the playground is that `.ci/run playground` has built, and the command beside it.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
export const folder = process.env.LASTHOP_PLAYGROUND ?? join(root, "target/playground");
export const lasthop = process.env.LASTHOP ?? join(root, "target/release/lasthop");

/** Why a test is skipped; false if it is not. */
export const skip =
  existsSync(join(folder, "engine.js")) && existsSync(lasthop)
    ? false
    : "the playground is not built: .ci/run playground";
