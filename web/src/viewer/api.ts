// What the server gives: docs/serve-api.md describes it.

import type { Value } from "../common/chart";
import type { Remedy } from "../common/remedy";

export interface RunHead {
  scenario: string;
  seed: number;
  run: number;
  duration_s: number;
  is_emulated: boolean;
  set: string[];
}

export interface RunEntry {
  id: number;
  name: string;
  run: RunHead | null;
  error: string | null;
  notes: string[];
  has_series: boolean;
  has_events: boolean;
}

export interface RunList {
  folder?: string;
  runs: RunEntry[];
  is_live: boolean;
  is_cut?: boolean;
  version: string;
}

export interface Finding extends Remedy {
  kind: string;
  title: string;
  sentence: string;
}

export type Parts = Record<string, number | null | undefined>;

export interface FlowSummary {
  delay_parts_ms?: Parts;
  delay_parts_slowest_ms?: Parts;
  packets_received: number;
  /** Of a flow of programs: the nodes where it begins and ends. */
  sender?: string;
  receiver?: string;
  goodput_mbps?: number;
  rtt_ms?: { p50: number; p95: number };
}

/** A table whose texts the server makes. */
export interface ServedTable {
  title: string;
  meaning: string;
  heads: string[];
  rows: string[][];
}

export interface RunDocument {
  id: number;
  findings: Finding[];
  /** The links of devices of several that packets took; without rows where there are none. */
  taken: ServedTable;
  document: {
    scenario: string;
    seed: number;
    run: number;
    duration_s: number;
    version: string;
    set?: string[];
    warnings?: string[];
    flows: Record<string, FlowSummary>;
    programs?: Record<string, FlowSummary>;
  };
}

/** A flow, node or link: its name, and an array for each quantity. */
export interface SeriesEntry {
  name: string;
  [quantity: string]: string | Value[];
}

export interface Series {
  at_s: number[];
  flows: SeriesEntry[];
  nodes: SeriesEntry[];
  links: SeriesEntry[];
  is_cut: boolean;
}

export interface Ppdus {
  at_ns: number[];
  duration_ns: number[];
  node: number[];
  link: number[];
  peer: number[];
  flow: number[];
  frame: number[];
  rate: number[];
  rate_kbps: number[];
  bytes: number[];
  mpdus: number[];
  retries: number[];
  received: number[];
  sequence: number[];
  signal_dbm: Value[];
  collided: boolean[];
}

export interface Packets {
  at_ns: number[];
  number: number[];
  event: string[];
  flow: number[];
}

export interface Lane {
  name: string;
  node: string;
  has_radio: boolean;
  has_queue: boolean;
  ppdus?: Ppdus;
  shares?: Record<string, number[]>;
  packets?: Packets;
  dropped: [number, number][];
  queue: [number, number][];
  waiting?: [number, number, number][];
  waiting_shares?: number[];
  absent?: [number, number, number][];
  absent_shares?: number[];
}

export interface Air {
  from_ns: number;
  to_ns: number;
  width: number;
  until_ns: number;
  ppdus: number;
  packets: number;
  events: number;
  events_all: number;
  texts: string[];
  lanes: Lane[];
}

export interface Step {
  kind: string;
  at_ns: number;
  node: string;
  /** Of a device of several links. */
  link?: string | null;
  peer: string | null;
  reason?: string | null;
  queue_packets?: number;
  delay_ns?: number;
  parts_ns?: Record<string, number>;
  carried?: "across" | "first" | "perhaps";
  duration_ns?: number;
  rate?: string;
  mpdus?: number;
  retries?: number;
  received?: number;
  collided?: boolean;
}

export interface Way {
  number: number;
  tag: string;
  flow: string | null;
  bytes: number;
  delay_ns: number | null;
  parts_ns: Record<string, number> | null;
  ppdus_left_out: number;
  steps: Step[];
}

/** A document of the server; its own message is thrown where there is none. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, signal === undefined ? {} : { signal });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Error("the server does not answer: is lasthop still running?");
  }
  const body: unknown = await response.json();
  if (!response.ok) {
    const why = (body as { error?: unknown }).error;
    throw new Error(typeof why === "string" ? why : `the server answers ${response.status}`);
  }
  return body as T;
}
