// The page in a browser: the main path of every section, what is refused, what it looks like, and that it works by keyboard.
//
//   node page.mjs [TEXT]      only checks whose name contains TEXT
//
// Screenshots go to target/web-screenshots/.

import { readFileSync } from "node:fs";
import { here, launch, serve } from "./browser.mjs";
import { contrasts, controls, unreached } from "./page_audit.mjs";

const [only = ""] = process.argv.slice(2);
const SHOTS = here("../../target/web-screenshots/");
const PATIENCE = { timeout: 120_000 };

const CHECKS = {
  async "the first result comes from the GPU"(visit) {
    const page = await visit();
    const ms = await page.evaluate(() => performance.getEntriesByName("first-result")[0].startTime);
    console.log(`      time to first result: ${ms.toFixed(0)} ms`);
    equal(await page.textContent(".norm.rms [data-by]"), "by the GPU");
    has(await page.textContent("#device"), "reduction in workgroup memory");
    has(await page.textContent("#facts"), "this browser has subgroups");
    has(await page.textContent("#facts"), "First result");
    await page.locator("#device", { hasText: "self-test passed" }).waitFor(PATIENCE);
  },

  async "a row is normalised as in float64"(visit) {
    const page = await visit();
    for (const dtype of ["f32", "bf16", "f16"]) {
      await page.check(`[name=dtype][value=${dtype}]`);
      for (const [x, eps] of [["3 0 0 0", 0], ["1 2 3 4", 1e-6], ["0.5 -0.25 8 1", 100]]) {
        await page.selectOption("#channels-count", "4");
        for (const [i, value] of x.split(" ").entries()) await page.fill(`[aria-label="x, channel ${i + 1}"]`, value);
        await page.click("#ones");
        await page.fill("#eps", String(eps));
        const row = x.split(" ").map(Number);
        const mean = row.reduce((sum, value) => sum + value, 0) / 4;
        const norm = (of) => of.map((value) => value / Math.sqrt(of.reduce((sum, v) => sum + v * v, 0) / 4 + eps));
        await shows(page, ".norm.rms [data-step=y]", norm(row), dtype);
        await shows(page, ".norm.layer [data-step=y]", norm(row.map((value) => value - mean)), dtype);
        await shows(page, ".norm.layer [data-step=mean]", [mean], "f32");
      }
      has(await page.textContent("#agreement"), `ULP of ${dtype}`);
    }
  },

  async "presets say what is remarkable"(visit) {
    const page = await visit();
    const said = async (preset, text) => {
      await page.getByRole("button", { name: preset, exact: true }).click();
      await page.locator("#remarks", { hasText: text }).waitFor(PATIENCE);
    };
    await said("One outlier", "One channel makes up 100");
    await said("Far from zero", "LayerNorm removes it");
    await said("Zeros", "A row of zeros stays zero");
    await said("Tiny", "eps is larger than the mean square");
    await said("Tiny, eps 0", "scales the row by a power of two");
    await said("Huge", "beyond the range of f32");
    await page.check("[name=dtype][value=f16]");
    await page.locator("#remarks", { hasText: "beyond 65504" }).waitFor(PATIENCE);
    equal(await page.locator(".norm.rms [data-step=squares] .mark").allTextContents(), Array(3).fill("∞ in f16"));
    await page.locator(".norm.rms [data-by]", { hasText: /^by the GPU$/ }).waitFor(PATIENCE);
    has((await page.locator(".norm.rms [data-step=y] .value").allTextContents()).join(), "1.68");
  },

  async "sliders move numbers, and numbers sliders"(visit) {
    const page = await visit();
    await page.getByLabel("x, channel 1, slider").fill("100");
    equal(await page.inputValue("[aria-label='x, channel 1']"), "2");
    equal(await page.getAttribute("[aria-label='x, channel 1, slider']", "aria-valuetext"), "2");
    await page.fill("[aria-label='x, channel 2']", "-4");
    equal(await page.inputValue("[aria-label='x, channel 2, slider']"), "-200");
    await page.fill("#eps-slider", "-121");
    equal(await page.inputValue("#eps"), "0");
    await page.fill("#eps-slider", "-50");
    equal(await page.inputValue("#eps"), "1e-5");
    await page.locator(".norm.rms [data-step=plusEps]", { hasText: "4.22" }).waitFor(PATIENCE);
  },

  async "what is no number is refused beside its field, and nothing is lost"(visit) {
    const page = await visit();
    const before = await page.locator(".norm.rms [data-step=y]").textContent();
    for (const [typed, got] of [["-1", "-1.0"], ["", "NaN"], ["text", "NaN"], ["NaN", "NaN"], ["1e39", "inf"]]) {
      await page.fill("#eps", typed);
      const error = page.locator("#eps-error", { hasText: `got ${got};` });
      await error.waitFor(PATIENCE);
      has(await error.textContent(), "invalid norm: eps: expected a finite number of at least 0");
      equal(await page.getAttribute("#eps", "aria-invalid"), "true");
      equal(await page.locator(".norm.rms [data-step=y]").textContent(), before);
    }
    await page.fill("#eps", "1e-6");
    await page.fill("[aria-label='x, channel 3']", "abc");
    has(await page.textContent("#problem-3"), "x₃: expected a finite number, got abc");
    await page.check("[name=dtype][value=f16]");
    await page.fill("[aria-label='x, channel 3']", "1e6");
    has(await page.textContent("#problem-3"), "at most 65504 in f16");
    await page.fill("[aria-label='weight, channel 3']", "");
    await page.fill("[aria-label='x, channel 3']", "0.4");
    has(await page.textContent("#problem-3"), "w₃: expected a finite number, got nothing");
    equal(await page.inputValue("[aria-label='x, channel 1']"), "0.8");
    await page.fill("[aria-label='weight, channel 3']", "1.2");
    await page.locator("#agreement", { hasText: "ULP of f16" }).waitFor(PATIENCE);
    equal(await page.textContent("#problem-3"), "");
    equal(await page.textContent("#eps-error"), "");
  },

  async "the kernel is shown"(visit) {
    const page = await visit();
    await page.click("#kernel summary");
    await page.locator("#kernel-text", { hasText: "fn main" }).waitFor(PATIENCE);
    has(await page.textContent("#kernel-plan"), "rms_norm");
  },

  async "norms are measured, drawn and saved"(visit) {
    const page = await visit();
    await chooseOwnShape(page, "16", "256");
    await page.click("#measure-start");
    await page.locator("#measure-status", { hasText: "Done: 4 of 4 norms measured" }).waitFor(PATIENCE);
    equal(await page.locator("#measure-rows tr").count(), 6);
    equal(await page.locator("#measure-charts svg").count(), 2);
    equal(await page.locator("#measure-charts .series").count(), 4);
    await page.selectOption("#metric", "gbps");
    equal(await page.locator("#measure-charts .series").count(), 6);
    has(await page.textContent("#measure-note"), "steps of");
    const report = await saved(page, "#measure-save");
    equal(report.results.map(({ op, dtype }) => `${op} ${dtype}`), [
      ...["rms_norm f32", "layer_norm f32", "copy f32", "rms_norm bf16", "layer_norm bf16", "copy bf16"],
    ]);
    for (const { op, rows, hidden, us_batch, us_single, gbps, share, bytes, parameters, dtype, device } of report.results) {
      equal([rows, hidden], [16, 256]);
      equal([us_batch, gbps, share, bytes].every((value) => value > 0), true);
      if (op === "copy") continue;
      equal(parameters, op === "rms_norm" ? 256 : 512);
      equal(bytes, (2 * 16 * 256 + parameters) * (dtype === "f32" ? 4 : 2));
      equal(us_single > 0 && device.length > 0, true);
    }
    equal(report.user_agent.includes("Chrome"), true);
  },

  async "measuring stops, and says what it cannot measure"(visit) {
    const page = await visit();
    await chooseOwnShape(page, "abc", "256");
    await page.click("#measure-start");
    has(await page.textContent("#measure-error"), "got abc × 256; type whole numbers");
    await page.fill("#own-rows", "4000000000");
    await page.selectOption("#budget", "0.1");
    await page.click("#measure-start");
    await page.locator("#measure-status", { hasText: /^Done/ }).waitFor(PATIENCE);
    has(await page.textContent("#measure-rows"), "expected");
    await page.fill("#own-rows", "64");
    await page.selectOption("#budget", "2");
    await page.click("#measure-start");
    equal(await page.isDisabled("#check-start"), true);
    await page.click("#measure-stop");
    await page.locator("#measure-status", { hasText: /^Stopped: 1 of 4/ }).waitFor(PATIENCE);
    equal(await page.isDisabled("#check-start"), false);
    equal((await saved(page, "#measure-save")).stopped, true);
  },

  async "cases are checked, shown by kind and saved"(visit) {
    const page = await visit();
    const kind = await page.evaluate(() => import("/package/lab.js").then(({ Lab }) => Lab.open()).then((lab) => lab.cases()[0].kind));
    await page.fill("#only", kind);
    await page.click("#check-start");
    await page.locator("#check-status", { hasText: /none failed|failed,/ }).waitFor(PATIENCE);
    const report = await saved(page, "#check-save");
    equal(report.failed, 0);
    equal(report.passed > 0 && report.passed + report.skipped === report.cases, true);
    equal(report.reports.length, report.cases);
    has(await page.textContent("#check-total"), String(report.passed));
    equal((await page.locator("#check-worst tr").count()) > 0, true);
    await page.fill("#only", "no such case");
    await page.click("#check-start");
    has(await page.textContent("#check-error"), "got no such case");
  },

  async "checking stops, and the page stays at hand"(visit) {
    const page = await visit();
    await page.click("#check-start");
    await page.locator("#check-case", { hasText: "of" }).waitFor(PATIENCE);
    await page.getByRole("button", { name: "Zeros" }).click();
    await page.locator("#remarks", { hasText: "A row of zeros" }).waitFor(PATIENCE);
    await page.click("#check-stop");
    await page.locator("#check-status", { hasText: /^Stopped after \d+ of/ }).waitFor(PATIENCE);
    const report = await saved(page, "#check-save");
    equal(report.stopped && report.ran < report.cases && report.reports.length === report.ran, true);
  },

  async "failed, broken and skipped cases are listed with their reasons"(visit) {
    const page = await visit();
    await page.evaluate(async () => {
      const { Lab } = await import("/package/lab.js");
      const run = Lab.prototype.run_case;
      const statuses = ["failed", "broken", "skipped"];
      Lab.prototype.run_case = async function (case_) {
        const status = statuses.shift();
        return { ...(await run.call(this, case_)), ...(status && { status, reason: `for the test: ${status}` }) };
      };
    });
    await page.click("#check-start");
    await page.locator("#check-reasons", { hasText: "for the test: skipped" }).waitFor(PATIENCE);
    await page.click("#check-stop");
    await page.locator("#check-status", { hasText: "2 failed" }).waitFor(PATIENCE);
    equal(await page.locator(".reasons.failed li").count(), 2);
    equal(await page.locator(".reasons.skipped li").count(), 1);
  },

  async "without WebGPU the page says what to do"(visit, { browser: other }) {
    const browser = await launch({ webgpu: false });
    try {
      const page = await visit({ browser, wait: false });
      await page.locator("#no-gpu").waitFor(PATIENCE);
      has(await page.textContent("#no-gpu"), "Firefox");
      equal((await page.textContent("#no-gpu-reason")).length > 20, true);
      equal(await page.textContent(".norm.rms [data-by]"), "by float64");
      for (const id of ["measure", "check"]) {
        equal(await page.isDisabled(`#${id}-start`), true);
        has(await page.textContent(`#${id}-closed`), "needs a GPU");
      }
      await page.fill("#eps", "-1");
      has(await page.textContent("#eps-error"), "eps: expected a finite number of at least 0, got -1");
      await page.screenshot({ path: `${SHOTS}no-gpu-1280.png`, fullPage: true });
    } finally {
      await browser.close();
    }
    // And where the browser does not know the word.
    const page = await visit({ browser: other, wait: false, before: () => Object.defineProperty(navigator, "gpu", { value: undefined }) });
    await page.locator("#no-gpu-reason", { hasText: "does not offer WebGPU" }).waitFor(PATIENCE);
  },

  async "everything is reached and used by keyboard"(visit) {
    const page = await visit();
    // Until the self-test has passed, there is nothing to measure on.
    await page.locator("#measure-start:enabled").waitFor(PATIENCE);
    equal(await unreached(page), []);
    await page.focus("#own-rows");
    await page.focus("[name=shape]");
    await page.keyboard.press("Space");
    equal(await page.isChecked("[name=shape]"), false);
    await page.focus("[name=dtype][value=f32]");
    await page.keyboard.press("ArrowRight");
    equal(await page.isChecked("[name=dtype][value=f16]"), true);
    await page.focus("#presets button:nth-child(4)");
    await page.keyboard.press("Enter");
    await page.locator("#remarks", { hasText: "A row of zeros" }).waitFor(PATIENCE);
    await page.focus("[aria-label='x, channel 1, slider']");
    await page.keyboard.press("ArrowRight");
    equal(await page.inputValue("[aria-label='x, channel 1']"), "0.02");
    await page.focus("#only");
    await page.keyboard.press("Enter");
    await page.locator("#check-stop:enabled").waitFor(PATIENCE);
    await page.focus("#check-stop");
    await page.keyboard.press("Enter");
    await page.locator("#check-status", { hasText: /^Stopped after/ }).waitFor(PATIENCE);
  },

  async "every control has a name, every text contrast, in both schemes and at every width"(visit) {
    const page = await visit();
    const looks = async (name, which, part) => {
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        for (const width of [360, 768, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
          equal((await contrasts(page, which)).filter(({ ratio }) => ratio < 4.5), []);
          const path = `${SHOTS}${name}-${width}-${colorScheme}.png`;
          await (part ? page.locator(part).screenshot({ path }) : page.screenshot({ path, fullPage: true }));
        }
      }
    };
    await chooseOwnShape(page, "16", "256");
    await page.click("#measure-start");
    await page.locator("#measure-status", { hasText: "Done" }).waitFor(PATIENCE);
    await page.fill("#only", "rstd");
    await page.click("#check-start");
    await page.locator("#check-status", { hasText: "none failed" }).waitFor(PATIENCE);
    equal((await controls(page)).filter(({ name }) => name === ""), []);
    await looks("page", "*");
    await page.check("[name=dtype][value=f16]");
    await page.getByRole("button", { name: "Huge" }).click();
    await page.selectOption("#channels-count", "8");
    await page.fill("[aria-label='x, channel 2']", "abc");
    await page.fill("#eps", "-1");
    await page.locator(".norms.stale").waitFor(PATIENCE);
    has(await page.textContent("#eps-error"), "got -1");
    has(await page.textContent("#problem-2"), "got abc");
    // What is out of date is dimmed, and not to be read.
    await looks("invalid", ":not(.stale *)", "#see");
  },
};

async function chooseOwnShape(page, rows, hidden) {
  for (const box of await page.locator("[name=shape]").all()) await box.uncheck();
  await page.fill("#own-rows", rows);
  await page.fill("#own-hidden", hidden);
  await page.check("#own-shape");
  await page.selectOption("#budget", "0.1");
}

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}

/** Waits until a step shows these numbers, as far as its dtype and its four digits go. */
async function shows(page, step, values, dtype) {
  const close = { f32: 6e-4, f16: 2e-3, bf16: 8e-3 }[dtype];
  const right = ([step, values, close]) => {
    const shown = [...document.querySelectorAll(`${step} .value`)].map(({ textContent }) => Number(textContent.replace("−", "-")));
    const near = (value, i) => Math.abs(value - values[i]) <= close * Math.abs(values[i]) + 1e-12;
    return shown.length === values.length && shown.every(near);
  };
  await page.waitForFunction(right, [step, values, close], PATIENCE).catch(async (error) => {
    throw new Error(`${step}: expected ${values}, got ${await page.locator(`${step} .value`).allTextContents()} (${error.message})`);
  });
}

function equal(got, expected) {
  if (JSON.stringify(got) !== JSON.stringify(expected)) {
    throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
  }
}

function has(text, part) {
  if (!text?.includes(part)) throw new Error(`expected ${JSON.stringify(part)} in ${JSON.stringify(text)}`);
}

/** Makes pages that note what none may do: errors on the console, and requests to other servers. */
function visitor(browser, url, wrong) {
  const pages = [];
  const visit = async ({ browser: chosen = browser, wait = true, before, ...options } = {}) => {
    const page = await chosen.newPage({ viewport: { width: 1280, height: 900 }, ...options });
    pages.push(page);
    page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => wrong.push(`page: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${url}/`) && !request.url().startsWith("blob:")) wrong.push(`request: ${request.url()}`);
    });
    if (before) await page.addInitScript(before);
    await page.goto(`${url}/`);
    if (wait) await page.waitForFunction(() => performance.getEntriesByName("first-result").length > 0, null, PATIENCE);
    return page;
  };
  const close = () => Promise.all(pages.map((page) => page.close().catch(() => {})));
  return { visit, close };
}

const server = await serve({ "/": here("../page/"), "/package/": here("../package/") });
const browser = await launch();
let failed = 0;
for (const [name, check] of Object.entries(CHECKS)) {
  if (!name.includes(only)) continue;
  const wrong = [];
  const { visit, close } = visitor(browser, server.url, wrong);
  const start = performance.now();
  try {
    await check(visit, { browser });
    if (wrong.length > 0) throw new Error(wrong.join("; "));
    console.log(`ok    ${name} (${((performance.now() - start) / 1e3).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`WRONG ${name}\n      ${error.message}${wrong.length > 0 ? `\n      ${wrong.join("\n      ")}` : ""}`);
  }
  await close();
}
await browser.close();
server.close();
console.log(failed === 0 ? "The page: none wrong." : `The page: ${failed} WRONG.`);
process.exitCode = failed === 0 ? 0 : 1;
