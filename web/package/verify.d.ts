/**
 * The verification of the Rust crate `wgpu-rmsnorm` on the browser's WebGPU: every element of every result is held to its error
 * model, against float64 from the same stored values. A compiled module of its own, which is loaded by the first `Verifier.open`.
 *
 * ```js
 * import { Verifier } from "wgpu-rmsnorm/verify";
 *
 * const verifier = await Verifier.open();
 * for (const case_ of verifier.cases()) {
 *   const { status, reason } = await verifier.run_case(case_);
 * }
 * ```
 */

import type { DType } from "./index.js";

/** A device of its own for cases to run on. */
export class Verifier {
  private constructor();
  /** Opens the browser's preferred high-performance adapter. `wasm`: where the module's file lies, or its bytes. */
  static open(options?: { wasm?: string | URL | Response | BufferSource }): Promise<Verifier>;
  /** The cases, in order. */
  cases(tier?: "quick" | "full"): Case[];
  /** Runs one of `cases`. A case that fails is a report, not an error. */
  run_case(case_: Case): Promise<CaseReport>;
  /** The kernels by which one of `cases` is run on this device, without running it. */
  kernels(case_: Case): Kernel[];
  /** Gives the device back. What still runs on it is rejected. */
  free(): void;
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
