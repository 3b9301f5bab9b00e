// Numbers as text.

/** A number with about four digits; an empty text for none. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 999.95) return value.toFixed(0);
  if (size >= 99.995) return value.toFixed(1);
  if (size >= 9.9995) return value.toFixed(2);
  if (size >= 0.0095) return value.toFixed(3);
  return value.toPrecision(2);
}

/** Nanoseconds as a time with its unit. */
export function time(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${short(ns / 1e3)} µs`;
  if (size < 1e9) return `${short(ns / 1e6)} ms`;
  return `${short(ns / 1e9)} s`;
}

/** An instant in seconds with as many decimals as a distance of `step` ns needs. */
export function instant(ns: number, step: number): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(step, 1)))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

/** A count with its noun. */
export function count(value: number, one: string, several = `${one}s`): string {
  return `${value.toLocaleString("en")} ${value === 1 ? one : several}`;
}
