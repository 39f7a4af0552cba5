// The package's types in use: compiled, never run.

import { Gpu, NormError, from_bits, to_bits } from "../package/index.js";
import type { NormSpec, Outputs } from "../package/index.js";
import { Lab } from "../package/lab.js";
import type { CaseReport, Kernel, Timed } from "../package/lab.js";

const spec: NormSpec = { hidden: 4, eps: 1e-6, preset: "llama", dtype: "bf16", weight: null, add_residual: "f32", rstd: true };

export async function use(): Promise<Timed> {
  const gpu = await Gpu.open({ self_test: false });
  const norm = gpu.norm(spec);
  const outputs: Outputs = await norm.run({ input: to_bits("bf16", [1, 2, 3, 4]), residual: new Float32Array(4) });
  const output = outputs.output instanceof Uint16Array ? from_bits("bf16", outputs.output) : outputs.output;
  const lab = await Lab.open();
  const reports: CaseReport[] = await Promise.all(lab.cases("full").map((case_) => lab.run_case(case_)));
  const kernels: Kernel[] = lab.cases().flatMap((case_) => lab.kernels(case_));
  console.log(output[0], reports[0]?.reason, kernels[0]?.wgsl, norm.explain(1).length, gpu.adapter.vendor);
  // @ts-expect-error a name that no preset has
  gpu.norm({ hidden: 4, eps: 0, preset: "lama" });
  // @ts-expect-error there is no default
  gpu.norm({ hidden: 4 });
  // @ts-expect-error Gpu.open makes it
  new Gpu();
  norm.free();
  return lab.time(spec, 16, { seconds: 0.5 });
}

export const kind = (error: unknown): string | undefined => (error instanceof NormError ? error.kind : undefined);
