// Opens the GPU and hands it to the sections: at once as it is, and tested as soon as the self-test has passed.

import { Check } from "./check.js";
import { $, deviceName, reductionName } from "./dom.js";
import { showFacts } from "./facts.js";
import { Measure } from "./measure.js";
import { See } from "./see.js";

const see = new See();
const measure = new Measure();
const check = new Check();
const times = {};

/** Says how the device is, in a word that is also its dot's colour, and in a sentence. */
function say(state, text) {
  $("device").className = `device ${state}`;
  $("device").textContent = text;
}

async function open() {
  if (!navigator.gpu) {
    throw new Error(
      isSecureContext
        ? "This browser does not offer WebGPU."
        : "Browsers offer WebGPU to secure pages only, and this page came by plain http.",
    );
  }
  const library = await import("./package/index.js");
  const start = performance.now();
  // Kernels of the self-test take a while to compile. One row's result stands beside float64 anyway, and so does every case.
  const gpu = await library.Gpu.open({ self_test: false });
  times["Opened in"] = performance.now() - start;
  see.use(library, gpu);
  await see.firstResult;
  performance.mark("first-result");
  times["First result after the page was asked for"] = performance.now();
  check.open(gpu);
  showFacts(gpu, times);
  return { library, gpu };
}

async function test({ library, gpu }) {
  const name = `${deviceName(gpu)}, reduction ${reductionName(gpu)}`;
  say("", `${name}; the self-test is running …`);
  try {
    const start = performance.now();
    const tested = await library.Gpu.open();
    times["Opened and self-tested in"] = performance.now() - start;
    say("open", `${name}; self-test passed`);
    showFacts(tested, times);
    see.use(library, tested);
    measure.open(tested);
  } catch (error) {
    say("none", `${name}; ${error.message}`);
    measure.close(error.message);
  }
}

try {
  const opened = await open();
  await test(opened);
} catch (error) {
  say("none", "No GPU: see below.");
  $("no-gpu-reason").textContent = error.message;
  $("no-gpu").hidden = false;
  $("gpu-none").textContent = "None is open, for the reason above.";
  measure.close("Measuring needs a GPU: see the message at the top of the page.");
  check.close("Checking needs a GPU: see the message at the top of the page.");
}
