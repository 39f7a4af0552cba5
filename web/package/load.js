// What both modules of the compiled library share: how one is loaded, and what becomes of promises when it has ended.

import { NormError } from "./error.js";

/** A module of the compiled library, loaded where it is first asked for. */
export class Compiled {
  #name;
  #load;
  #library;
  #loading;
  /** What ended it. */
  #end;
  /** Rejects what is running, each. */
  #running = new Set();

  /** `name` is that of the wasm file beside this one; `library` the module that was generated with it. */
  constructor(name, library) {
    this.#name = name;
    this.#load = library.default;
    this.#library = library;
  }

  /** Loads it, where it is not loaded yet. What did not load is tried again. */
  async load(wasm) {
    this.#loading ??= this.#load({ module_or_path: wasm ?? new URL(this.#name, import.meta.url) });
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      const remedy = `serve ${this.#name} beside index.js, or say where it lies with { wasm }`;
      throw new NormError("Load", `the compiled library did not load: ${error.message ?? error}; ${remedy}`);
    }
    this.#library.on_panic((message) => {
      const remedy = "this is a bug, please report it; reload the page to go on";
      this.#end ??= new NormError("Panic", `the compiled library has ended: ${message}; ${remedy}`);
      this.#running.forEach((reject) => reject(this.#end));
    });
  }

  /** What `run` promises; rejected where the compiled library ends meanwhile, for then nothing settles its promises. */
  async running(run) {
    if (this.#end) {
      throw this.#end;
    }
    let stop;
    try {
      return await new Promise((resolve, reject) => {
        stop = reject;
        this.#running.add(reject);
        run().then(resolve, reject);
      });
    } catch (error) {
      throw this.#end ?? error;
    } finally {
      this.#running.delete(stop);
    }
  }
}
