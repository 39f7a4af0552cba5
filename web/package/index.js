// The classes of index.d.ts, over the compiled library: it is loaded once, by the first `Gpu.open`.

import * as library from "./wgpu_rmsnorm.js";
import { NormError } from "./error.js";
import { Compiled } from "./load.js";

export { NormError };

const compiled = new Compiled("wgpu_rmsnorm_bg.wasm", library);
let is_loaded = false;

/** Where what is freed is asked for something. */
function freed(what) {
  return new NormError("Freed", `this ${what} was freed; ${what === "Gpu" ? "open another" : "make another"}`);
}

/** What the browser says of the adapter that the library opens. The library's binding has no more of it than one text. */
async function preferred() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  const { vendor = "", architecture = "", device = "", description = "" } = adapter?.info ?? {};
  return {
    adapter: { name: description || device || `${vendor} ${architecture}`.trim(), vendor, architecture, description },
    has_subgroups: adapter?.features.has("subgroups") ?? false,
  };
}

/** The device after its self-test; given back where it failed. */
async function tested(opened) {
  try {
    const gpu = await compiled.running(() => opened.tested());
    opened.free();
    return gpu;
  } catch (error) {
    opened.destroy();
    throw error;
  }
}

function note(uses, has) {
  if (uses) {
    return "";
  }
  return has
    ? "this browser has subgroups, but wgpu cannot request them of a browser yet: lanes are joined in workgroup memory"
    : "this browser's adapter has no subgroups: lanes are joined in workgroup memory";
}

/** Only this module makes objects of the classes below. */
const OWN = Symbol("own");

function only_here(key, how) {
  if (key !== OWN) {
    throw new NormError("Argument", `unusable argument: new: expected ${how}, got a constructor's call; ${how} makes it`);
  }
}

export class Gpu {
  #gpu;

  constructor(key, gpu, browser) {
    only_here(key, "Gpu.open");
    this.#gpu = gpu;
    this.adapter = Object.freeze(browser.adapter);
    this.features = Object.freeze(gpu.features());
    this.limits = Object.freeze(gpu.limits());
    this.reduction = gpu.uses_subgroups() ? "subgroups" : "workgroup memory";
    this.reduction_note = note(gpu.uses_subgroups(), browser.has_subgroups);
  }

  static async open({ wasm, self_test = true, ...rest } = {}) {
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) {
      const remedy = "leave it out, or spell it as one of these";
      throw new NormError("Argument", `unusable argument: ${unknown}: expected wasm or self_test, got another; ${remedy}`);
    }
    await compiled.load(wasm);
    is_loaded = true;
    const opened = await compiled.running(() => library.Gpu.open());
    const gpu = self_test ? await tested(opened) : opened;
    return new Gpu(OWN, gpu, await preferred());
  }

  get #live() {
    if (!this.#gpu) {
      throw freed("Gpu");
    }
    return this.#gpu;
  }

  norm(spec) {
    return new Norm(OWN, this.#live.norm(spec));
  }

  free() {
    const gpu = this.#gpu;
    this.#gpu = undefined;
    gpu?.destroy();
    gpu?.free();
  }
}

export class Norm {
  #norm;

  constructor(key, norm) {
    only_here(key, "Gpu.norm");
    this.#norm = norm;
  }

  get #live() {
    if (!this.#norm) {
      throw freed("Norm");
    }
    return this.#norm;
  }

  async run(inputs) {
    return compiled.running(() => this.#live.run(inputs));
  }

  explain(rows) {
    return this.#live.explain(rows);
  }

  shader(rows) {
    return this.#live.shader(rows);
  }

  free() {
    this.#norm?.free();
    this.#norm = undefined;
  }
}

function with_library(convert) {
  return (dtype, values) => {
    if (!is_loaded) {
      throw new NormError("Load", "the compiled library is not loaded; open a Gpu first");
    }
    return convert(dtype, values);
  };
}

export const to_bits = with_library(library.to_bits);
export const from_bits = with_library(library.from_bits);
