// "Measure it": RMSNorm, LayerNorm and a copy of as many bytes, by shape and dtype.

import { barChart } from "./chart.js";
import { $, breathe, deviceName, element, origin } from "./dom.js";
import { bytes, gigabytes, grouped, microseconds, percent } from "./format.js";
import { Task } from "./task.js";

const SHAPES = [[1, 4096], [64, 4096], [4096, 4096], [8192, 128], [32, 16384]];
const CHOSEN = 3;
const NORMS = [
  { op: "rms_norm", label: "RMSNorm", preset: "torch" },
  { op: "layer_norm", label: "LayerNorm", preset: "layer_norm" },
];
const COPY = { op: "copy", label: "Copy" };
const METRICS = {
  share: {
    title: "Share of the copy’s speed, %",
    of: ({ share }) => share * 100,
    text: ({ share }) => percent(share),
    // The copy is the same line in every group.
    reference: { value: 100, label: "copy" },
  },
  gbps: { title: "Speed, GB/s", of: ({ gbps }) => gbps, text: ({ bytes, us_batch }) => gigabytes(bytes, us_batch), reference: null },
};

export class Measure extends Task {
  /** What was measured: a report's entries, and what could not be. */
  #results = [];

  constructor() {
    super("measure");
    SHAPES.forEach((shape, i) => {
      const box = element("input", { type: "checkbox", name: "shape", value: shape.join("x"), checked: i < CHOSEN });
      $("shapes").append(element("label", {}, box, ` ${shapeName(shape)}`));
    });
    for (const id of ["own-rows", "own-hidden"]) $(id).addEventListener("input", () => ($("own-shape").checked = true));
    $("metric").addEventListener("change", () => this.#draw());
    // Charts are drawn for the width that they have.
    new ResizeObserver(() => this.#draw()).observe($("measure-charts"));
  }

  async run() {
    const jobs = this.#jobs();
    if (jobs === null) return null;
    const lab = await this.lab();
    const seconds = Number($("budget").value);
    const step = clockStep();
    this.#results = [];
    this.#show();
    $("measure-results").hidden = false;
    for (const [i, { norm, rows, hidden, dtype }] of jobs.entries()) {
      if (this.stopped) break;
      this.progress(i, jobs.length);
      this.say(`${i + 1} of ${jobs.length}: ${norm.label}, ${shapeName([rows, hidden])}, ${dtype}`);
      await breathe();
      const about = { op: norm.op, rows, hidden, dtype, device: deviceName(this.gpu) };
      try {
        const spec = { hidden, eps: 1e-6, preset: norm.preset, dtype };
        this.#take(about, await lab.time(spec, rows, { seconds }));
      } catch (error) {
        this.#results.push({ ...about, error: error.message });
      }
      this.#show();
    }
    const done = jobs.length - (this.stopped ? jobs.length - this.#results.filter(({ op }) => op !== COPY.op).length : 0);
    this.progress(done, jobs.length);
    this.report = {
      ...origin(this.gpu),
      clock_step_us: step * 1000,
      seconds_each: seconds,
      bytes_are: "rows * hidden in and out, weight and bias once",
      stopped: this.stopped,
      results: this.#results,
    };
    $("measure-note").textContent = clockNote(this.#results, step);
    return `${this.stopped ? "Stopped" : "Done"}: ${done} of ${jobs.length} norms measured on ${deviceName(this.gpu)}.`;
  }

  #jobs() {
    const shapes = [...document.querySelectorAll("[name=shape]:checked")].map(({ value }) => value.split("x").map(Number));
    if ($("own-shape").checked) {
      const own = [$("own-rows").value, $("own-hidden").value];
      if (!own.every((text) => /^[1-9]\d{0,9}$/.test(text.trim()))) {
        this.blame(`own shape: expected rows and channels of at least 1, got ${own.map((text) => text || "nothing").join(" × ")}; type whole numbers`);
        return null;
      }
      shapes.push(own.map(Number));
    }
    const dtypes = [...document.querySelectorAll("[name=measure-dtype]:checked")].map(({ value }) => value);
    if (shapes.length === 0 || dtypes.length === 0) {
      this.blame(`${shapes.length === 0 ? "shapes" : "stored as"}: expected at least one choice, got none; tick one`);
      return null;
    }
    return shapes.flatMap(([rows, hidden]) => dtypes.flatMap((dtype) => NORMS.map((norm) => ({ norm, rows, hidden, dtype }))));
  }

  #take(about, { latency_us, norm_us, copy_us, bytes, parameters, clock, rung, copy }) {
    const gbps = (us) => bytes / us / 1e3;
    this.#results.push({
      ...about,
      us_single: latency_us,
      us_batch: norm_us,
      gbps: gbps(norm_us),
      share: copy_us / norm_us,
      us_copy: copy_us,
      bytes,
      parameters,
      clock,
      rung,
    });
    // The copy is shown once, as it was timed beside the last norm of a shape.
    if (about.op !== NORMS.at(-1).op) return;
    this.#results.push({ ...about, op: COPY.op, us_batch: copy_us, gbps: gbps(copy_us), share: 1, bytes, clock, kernel: copy });
  }

  #show() {
    $("measure-rows").replaceChildren(...this.#results.map(tableRow));
    this.#draw();
  }

  #draw() {
    const width = $("measure-charts").clientWidth;
    if (width === 0) return;
    const metric = METRICS[$("metric").value];
    const measured = this.#results.filter(({ error }) => !error);
    const dtypes = [...new Set(measured.map(({ dtype }) => dtype))];
    const charts = dtypes.map((dtype) => {
      const of = measured.filter((result) => result.dtype === dtype && !(metric.reference && result.op === COPY.op));
      const names = [...new Set(of.map(({ rows, hidden }) => shapeName([rows, hidden])))];
      const groups = names.map((label) => ({
        label,
        bars: of
          .filter(({ rows, hidden }) => shapeName([rows, hidden]) === label)
          .map((result) => ({ series: result.op, label: labelOf(result.op), value: metric.of(result), text: metric.text(result) })),
      }));
      return barChart({ name: `${metric.title}, ${dtype}`, unit: metric.title, groups, reference: metric.reference, width });
    });
    $("measure-charts").replaceChildren(...charts);
  }
}

function tableRow(result) {
  const { op, rows, hidden, dtype, error } = result;
  const heads = [
    element("th", { scope: "row" }, shapeName([rows, hidden])),
    element("td", {}, dtype),
    element("td", { class: `of ${op}` }, labelOf(op)),
  ];
  if (error) return element("tr", {}, heads, element("td", { colspan: 6, class: "refused" }, error));
  const cells = [
    result.us_single === undefined ? "–" : microseconds(result.us_single),
    microseconds(result.us_batch),
    gigabytes(result.bytes, result.us_batch),
    percent(result.share),
    bytes(result.bytes),
    grouped(result.parameters ?? 0),
  ];
  return element("tr", { class: op }, heads, cells.map((text) => element("td", { class: "n" }, text)));
}

function labelOf(op) {
  return [...NORMS, COPY].find((one) => one.op === op).label;
}

function shapeName([rows, hidden]) {
  return `${rows} × ${hidden}`;
}

/** The smallest step of the browser's clock that is seen in a few, in milliseconds. */
function clockStep() {
  let [least, last] = [Infinity, performance.now()];
  const start = last;
  for (let steps = 0; steps < 20 && last - start < 50; ) {
    const now = performance.now();
    if (now === last) continue;
    least = Math.min(least, now - last);
    last = now;
    steps++;
  }
  return least;
}

function clockNote(results, step) {
  const clocks = [...new Set(results.map(({ clock }) => clock).filter(Boolean))];
  const which = {
    timestamps: "Timed by the device’s timestamps, which browsers round, often to 0.1 ms.",
    "wall clock": "Timed by the browser’s own clock, around submits of many norms.",
  };
  const said = clocks.map((clock) => which[clock]).join(" ");
  return `${said} A browser’s clock is coarse: here it goes by steps of ${Number((step * 1000).toPrecision(2))} µs. Figures of single
    short norms hold the browser’s own cost of a submit; treat differences of a few percent as none.`.replace(/\s+/g, " ");
}
