// A run that takes a while: its form, its buttons, its progress. One at a time, for two would disturb each other.

import { $, save } from "./dom.js";

let running = null;
const all = [];
/** The promise of what both sections run on. */
let opened = null;

export class Task {
  #name;
  #stop = false;
  /** What it runs on; `null` until there is one. */
  gpu = null;
  /** What "Save as JSON" saves; `null` for nothing yet. */
  report = null;

  /** `name` is that of the elements' ids. What extends this has `run()`, which does the work and returns what is said at the end. */
  constructor(name) {
    this.#name = name;
    all.push(this);
    this.at("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#start();
    });
    this.at("stop").addEventListener("click", () => {
      this.#stop = true;
      this.at("stop").disabled = true;
      this.say("Stopping after what is running …");
    });
    this.at("save").addEventListener("click", () => save(`wgpu-rmsnorm-${name}.json`, this.report));
    this.#showState();
  }

  /** One of the elements of this task. */
  at(part) {
    return $(`${this.#name}-${part}`);
  }

  /** From now on it can be run, on `gpu`. */
  open(gpu) {
    this.gpu = gpu;
    this.#showState();
  }

  /** Says why it cannot be run. */
  close(why) {
    this.at("closed").textContent = why;
    this.at("closed").hidden = false;
  }

  /** What times and verifies: fetched where it is first wanted, for it is larger than all the rest of the page. */
  async lab() {
    if (opened === null) this.say("Loading what times and verifies …");
    opened ??= import("./package/lab.js").then(({ Lab }) => Lab.open());
    return opened.catch((error) => {
      // A network may be back by the next time.
      opened = null;
      throw error;
    });
  }

  get stopped() {
    return this.#stop;
  }

  progress(done, total) {
    this.at("progress").max = Math.max(total, 1);
    this.at("progress").value = done;
  }

  say(text) {
    this.at("status").textContent = text;
  }

  blame(text) {
    this.at("error").textContent = text;
  }

  async #start() {
    // Enter in a field submits too.
    if (running || !this.gpu) return;
    running = this;
    this.#stop = false;
    this.blame("");
    all.forEach((task) => task.#showState());
    try {
      const said = await this.run();
      if (said !== null) this.say(said);
    } catch (error) {
      this.blame(error.message);
      this.say("Ended by an error.");
    }
    running = null;
    all.forEach((task) => task.#showState());
  }

  #showState() {
    const mine = running === this;
    const start = this.at("start");
    // Focus would be lost with a button that is disabled under it.
    const focused = document.activeElement;
    start.disabled = !this.gpu || running !== null;
    start.title = running && !mine ? "Waits for the other run to end" : "";
    this.at("fields").disabled = !this.gpu || mine;
    this.at("stop").disabled = !mine;
    this.at("save").disabled = mine || this.report === null;
    if (focused === start && mine) this.at("stop").focus();
    if (!mine && focused === this.at("stop") && !start.disabled) start.focus();
  }
}
