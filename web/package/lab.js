// The functions of lab.d.ts, over a module of the compiled library of its own, which is loaded by the first `Lab.open`.

import * as library from "./wgpu_rmsnorm_lab.js";
import { NormError } from "./error.js";
import { Compiled } from "./load.js";

const compiled = new Compiled("wgpu_rmsnorm_lab_bg.wasm", library);
/** Only this module makes objects of the class below. */
const OWN = Symbol("own");

export class Lab {
  #gpu;
  /** The promise of the same device after its self-test: what is timed is what a `Gpu` would run. */
  #tested;

  constructor(key, gpu) {
    if (key !== OWN) {
      throw new NormError("Argument", "unusable argument: new: expected Lab.open, got a constructor's call; Lab.open makes it");
    }
    this.#gpu = gpu;
  }

  static async open({ wasm } = {}) {
    await compiled.load(wasm);
    return new Lab(OWN, await compiled.running(() => library.Gpu.open()));
  }

  get #live() {
    if (!this.#gpu) {
      throw new NormError("Freed", "this Lab was freed; open another");
    }
    return this.#gpu;
  }

  async time(spec, rows, { seconds = 1 } = {}) {
    if (!(seconds > 0 && seconds < Infinity)) {
      const remedy = "pass how long the timing may take, about";
      throw new NormError("Argument", `unusable argument: seconds: expected a number above 0, got ${seconds}; ${remedy}`);
    }
    const gpu = this.#live;
    this.#tested ??= compiled.running(() => gpu.tested());
    const tested = await this.#tested;
    return compiled.running(() => tested.time(spec, rows, seconds));
  }

  /** The cases run on the device as it is: what the self-test finds, they find again, one by one. */
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
