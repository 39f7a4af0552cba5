// The functions of verify.d.ts, over a module of the compiled library of its own, which is loaded by the first `Verifier.open`.

import * as library from "./wgpu_rmsnorm_verify.js";
import { NormError } from "./error.js";
import { Compiled } from "./load.js";

const compiled = new Compiled("wgpu_rmsnorm_verify_bg.wasm", library);
/** Only this module makes objects of the class below. */
const OWN = Symbol("own");

export class Verifier {
  #gpu;

  constructor(key, gpu) {
    if (key !== OWN) {
      throw new NormError("Argument", "unusable argument: new: expected Verifier.open, got a constructor's call; Verifier.open makes it");
    }
    this.#gpu = gpu;
  }

  static async open({ wasm } = {}) {
    await compiled.load(wasm);
    // The self-test is left out: its findings would be found again, case by case.
    return new Verifier(OWN, await compiled.running(() => library.Gpu.open(false)));
  }

  get #live() {
    if (!this.#gpu) {
      throw new NormError("Freed", "this Verifier was freed; open another");
    }
    return this.#gpu;
  }

  cases(tier = "quick") {
    return this.#live.cases(tier);
  }

  async run_case(case_) {
    return compiled.running(() => this.#live.run_case(case_));
  }

  kernels(case_) {
    return this.#live.kernels(case_);
  }

  free() {
    const gpu = this.#gpu;
    this.#gpu = undefined;
    gpu?.destroy();
    gpu?.free();
  }
}
