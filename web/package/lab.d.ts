/**
 * Times norms on the browser's WebGPU beside copies of their bytes, and holds every element of every result to the error model of the
 * Rust crate `wgpu-rmsnorm`, against float64 from the same stored values. A compiled module of its own, which is loaded by the first
 * `Lab.open`.
 *
 * ```js
 * import { Lab } from "wgpu-rmsnorm/lab";
 *
 * const lab = await Lab.open();
 * const { norm_us, copy_us } = await lab.time({ hidden: 4096, eps: 1e-6 }, 64);
 * for (const case_ of lab.cases()) {
 *   const { status, reason } = await lab.run_case(case_);
 * }
 * ```
 */

import type { DType, NormSpec } from "./index.js";

/** A device of its own, to time norms and run cases on. */
export class Lab {
  private constructor();
  /** Opens the browser's preferred high-performance adapter. `wasm`: where the module's file lies, or its bytes. */
  static open(options?: { wasm?: string | URL | Response | BufferSource }): Promise<Lab>;
  /**
   * Times a norm and a copy of its bytes, in turns, for about so many seconds (1 where left out); the first time behind a self-test.
   * Rejects where one of them left something unwritten.
   */
  time(spec: NormSpec, rows: number, options?: { seconds?: number }): Promise<Timed>;
  /** The cases, in order. */
  cases(tier?: "quick" | "full"): Case[];
  /** Runs one of `cases`. A case that fails is a report, not an error. */
  run_case(case_: Case): Promise<CaseReport>;
  /** The kernels by which one of `cases` is run on this device, without running it. */
  kernels(case_: Case): Kernel[];
  /** Gives the device back. What still runs on it is rejected. */
  free(): void;
}

/** How long a norm takes beside a copy of as many bytes. */
export interface Timed {
  /** One norm, recorded, submitted and waited for, in microseconds. */
  latency_us: number;
  /** One norm of many in a submit. */
  norm_us: number;
  /** One copy of as many bytes, by the fastest of several kernels. */
  copy_us: number;
  /** Bytes that a norm must read and write: each input once, each output once. */
  bytes: number;
  /** Values of weight and bias. */
  parameters: number;
  /** `"timestamps"` of the device, or `"wall clock"`. */
  clock: "timestamps" | "wall clock";
  /** The kernel's rung. */
  rung: string;
  /** The copy's kernel. */
  copy: string;
}

/** One case. */
export interface Case {
  readonly index: number;
  readonly tier: "quick" | "full";
  readonly kind: string;
  readonly name: string;
}

/** What came of a case. */
export interface CaseReport {
  kind: string;
  name: string;
  dtype: DType | "i8" | "f8e4m3";
  /** `"failed"`: wrong numbers, bits or guards. `"broken"`: the library or the browser refused to run it. */
  status: "passed" | "failed" | "broken" | "skipped";
  /** Why, where it did not pass. */
  reason?: string;
  /** Elements that were compared with float64. */
  elements: number;
  /** The largest error, in ULP of the output's dtype. */
  worst_ulp: number;
}

/** A kernel. */
export interface Kernel {
  /** Operation, rung, hidden and dtypes. */
  label: string;
  wgsl: string;
}
