// The parts of a packet's delay: their names, in the order in which a packet meets them, and
// the colours that they have in reports, where some share one (crates/report/src/plots.rs).

/** A part of a delay. */
export interface Cause {
  /** Its key in documents, without the unit. */
  key: string;
  /** What the packet waits for. */
  means: string;
}

/** The parts, as documents name them. */
export const CAUSES: readonly Cause[] = [
  { key: "queue", means: "other packets, in queues of the Wi-Fi hop" },
  { key: "away", means: "a station that scans" },
  { key: "asleep", means: "a station that saves power" },
  { key: "roam", means: "a station without an access point" },
  { key: "contention", means: "the channel: backoff, other stations, RTS and CTS" },
  { key: "retries", means: "the PPDU that gets it across, from the first that carried it" },
  { key: "reorder", means: "earlier packets, in the recipient's reorder buffer" },
  { key: "air", means: "its own PPDU" },
  { key: "other", means: "hosts' processing and coded links" },
  { key: "wire", means: "wires: queue, serialisation, propagation" },
];

/** Parts that are drawn as one, from below to above. */
export interface Band {
  label: string;
  keys: readonly string[];
  /** Index of its colour. */
  series: number;
}

export const BANDS: readonly Band[] = [
  { label: "queue", keys: ["queue"], series: 0 },
  { label: "away, asleep, roam", keys: ["away", "asleep", "roam"], series: 1 },
  { label: "contention", keys: ["contention"], series: 2 },
  { label: "retries, reorder", keys: ["retries", "reorder"], series: 3 },
  { label: "air, other", keys: ["air", "other"], series: 4 },
  { label: "wire", keys: ["wire"], series: 5 },
];

/** The value of a band, of parts by key; null if there is none of them. */
export function bandOf(band: Band, part: (key: string) => number | null | undefined): number | null {
  let sum: number | null = null;
  for (const key of band.keys) {
    const value = part(key);
    if (value !== null && value !== undefined) sum = (sum ?? 0) + value;
  }
  return sum;
}
