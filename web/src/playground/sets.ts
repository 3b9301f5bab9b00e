// The changes of a scenario as `--set` has them, and the command that repeats a run.

/** The path of an argument of `--set`. */
export function pathOf(set: string): string {
  return set.slice(0, set.indexOf("=")).trim();
}

/** The changes with this one, which takes the place of one with the same path. */
export function withSet(sets: readonly string[], set: string): string[] {
  const path = pathOf(set);
  const at = sets.findIndex((other) => pathOf(other) === path);
  return at < 0 ? [...sets, set] : sets.map((other, index) => (index === at ? set : other));
}

/** A word as a POSIX shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command that makes the same run; `file` is the scenario's name or file. */
export function command(file: string, sets: readonly string[]): string {
  return ["lasthop simulate", quoted(file), ...sets.map((set) => `--set ${quoted(set)}`)].join(" ");
}

/** The state of a page in its address. */
export function fragment(name: string, sets: readonly string[]): string {
  const parameters = new URLSearchParams([["scenario", name], ...sets.map((set) => ["set", set])]);
  return `#${parameters.toString()}`;
}

/** The same read back; null if there is none. */
export function fromFragment(text: string): { name: string; sets: string[] } | null {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const name = parameters.get("scenario");
  const sets = parameters.getAll("set").filter((set) => set.includes("="));
  return name === null ? null : { name, sets };
}
