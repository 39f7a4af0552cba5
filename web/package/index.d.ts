/**
 * RMSNorm and its relatives on the browser's WebGPU: the kernels of the Rust crate `wgpu-rmsnorm`, with its names, defaults,
 * numbers and error texts.
 *
 * ```js
 * import { Gpu } from "wgpu-rmsnorm";
 *
 * const gpu = await Gpu.open();
 * const norm = gpu.norm({ hidden: 4, eps: 1e-6 });
 * const { output } = await norm.run({ input: new Float32Array([1, 2, 3, 4]), weight: new Float32Array(4).fill(1) });
 * ```
 */

/** How a tensor is stored: f32 in a `Float32Array`; f16 and bf16 as their bits, in a `Uint16Array`. */
export type DType = "f32" | "f16" | "bf16";

/** A tensor, row after row. Its dtype is that of the norm's definition, and the array must be of that dtype's kind. */
export type Tensor = Float32Array | Uint16Array;

/** A published definition, which sets the defaults of the fields that are left out. */
export type Preset = "torch" | "llama" | "gemma" | "t5" | "onnx" | "layer_norm";

/** What is computed. Named as the fields of `NormSpec` in Rust. */
export interface NormSpec {
  /** Channels a row: the length of the last dimension. At least 1. */
  hidden: number;
  /** Added to the mean of squares, inside the root. Finite and at least 0. */
  eps: number;
  /** `"torch"` where left out. */
  preset?: Preset;
  /** The dtype of input, weight, bias, residual and gate, where they have none of their own. `"f32"` where left out. */
  dtype?: DType;
  /** The input's dtype. */
  input?: DType;
  /** The weight's dtype; `null` for no weight. */
  weight?: DType | null;
  /** The bias's dtype; `null` for no bias. */
  bias?: DType | null;
  /** The output's dtype, where the preset's own rule shall not hold. */
  output?: DType;
  /** Added to every weight in f32. */
  weight_offset?: number;
  /** Groups of channels, each with a statistic of its own. */
  groups?: number;
  /** The first channels (of each group) that the statistic is made of, where not of all. */
  statistics_length?: number;
  /** A residual in this dtype, added before the norm; the sum is written back as `residual_out`. */
  add_residual?: DType;
  /** A residual in this dtype, added after the norm. */
  then_add_residual?: DType;
  /** A gate in this dtype, which the input is multiplied by. */
  gate_input?: DType;
  /** A gate in this dtype, which the result is multiplied by. */
  gate_output?: DType;
  /** What a gate opens to. `"silu"` where left out. */
  activation?: "silu" | "sigmoid";
  /** Whether the scale of each row is written beside the output. */
  rstd?: boolean;
}

/** A norm's operands. */
export interface Inputs {
  input: Tensor;
  weight?: Tensor;
  bias?: Tensor;
  residual?: Tensor;
  gate?: Tensor;
}

/** What a norm writes. */
export interface Outputs {
  output: Tensor;
  /** The sum that was normalised, of a norm with `add_residual`. */
  residual_out?: Tensor;
  /** The scale of each row (of each group), of a norm with `rstd`. */
  rstd?: Float32Array;
}

/** Whatever goes wrong is one of these: the message names the argument, what was expected, what came and the remedy. */
export class NormError extends Error {
  /**
   * The variant of the Rust error: `"Spec"`, `"Shape"`, `"DType"`, `"Limit"`, `"NoAdapter"`, `"DeviceLost"`, ... And what Rust has
   * no error for: `"Argument"`, any other argument of a wrong kind; `"Freed"`, the use of what was freed; `"Load"`, the compiled
   * library did not load, or is not loaded yet; `"Result"`, what `Lab` was to time did not do its work; `"Panic"`, the compiled
   * library has ended by a bug: the message has its words.
   */
  readonly kind: string;
}

export interface GpuOptions {
  /** Where the wasm file lies, or its bytes; beside this module where left out. */
  wasm?: string | URL | Response | BufferSource;
  /** Whether the device is tested before it is used. `true` where left out. */
  self_test?: boolean;
}

/** The browser's GPU, opened. */
export class Gpu {
  private constructor();
  /** Opens the browser's preferred high-performance adapter. */
  static open(options?: GpuOptions): Promise<Gpu>;
  /** What the browser says of the adapter; empty strings where it says nothing. */
  readonly adapter: { name: string; vendor: string; architecture: string; description: string };
  /** The optional features that the device was opened with: `"timestamp-query"`, where the browser has it. */
  readonly features: readonly string[];
  /** How lanes of a workgroup are joined. */
  readonly reduction: "workgroup memory" | "subgroups";
  /** Why subgroups are not used, where they are not. */
  readonly reduction_note: string;
  /** What the device allows. */
  readonly limits: { max_binding: number; max_buffer: number; max_invocations: number; workgroup_memory: number };
  norm(spec: NormSpec): Norm;
  /** Gives the device back. What still runs on it is rejected. */
  free(): void;
}

/** A norm on a GPU. Its kernel is compiled when it first runs. */
export class Norm {
  private constructor();
  /** Normalises the rows of `inputs.input`. The arrays are copied before it returns, so that they may be changed at once. */
  run(inputs: Inputs): Promise<Outputs>;
  /** How `rows` rows would be computed, in words. */
  explain(rows: number): string;
  /** The WGSL text of the kernel for `rows` rows. */
  shader(rows: number): string;
  free(): void;
}

/** Conversions between numbers and the bits of half types, as the kernels round: to nearest, ties to even. Once a `Gpu` was opened. */
export function to_bits(dtype: "f16" | "bf16", values: ArrayLike<number>): Uint16Array;
export function from_bits(dtype: "f16" | "bf16", bits: Uint16Array): Float32Array;
