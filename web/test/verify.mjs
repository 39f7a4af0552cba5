// The verification's case list in a browser: its compiler takes every kernel of the list, and cases run, with the report that the
// program prints.
//
//   node verify.mjs [--tier quick|full] [--every N] [--only TEXT] [--json=FILE]
//
// --every N runs the first of every N cases of each kind; 1 where left out.

import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { bare_page, here, launch, serve } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    tier: { type: "string", default: "quick" },
    every: { type: "string", default: "1" },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const every = Number(options.every);
if (!Number.isInteger(every) || every < 1) {
  throw new Error(`--every: expected a whole number of at least 1, got ${options.every}`);
}
/** Cases that a page is asked for in one call. */
const AT_ONCE = 8;
/** Browsers that run cases at the same time: pages of one would share the process in which kernels are compiled. */
const BROWSERS = Math.min(availableParallelism(), 4);
const DTYPES = ["f32", "f16", "bf16", "i8", "f8e4m3"];

const is_wrong = ({ status }) => status === "failed" || status === "broken";

async function run() {
  const server = await serve({ "/package/": here("../package/"), "/test/": here("./") });
  const browsers = await Promise.all(Array.from({ length: BROWSERS }, () => launch()));
  try {
    const start = performance.now();
    const pages = await Promise.all(browsers.map((browser) => open(browser, server.url)));
    const adapter = await pages[0].evaluate(() => {
      const { adapter, features, reduction, reduction_note, limits } = window.gpu;
      return { ...adapter, features, reduction, reduction_note, limits };
    });
    const list = await chosen(pages[0]);
    const compiled = await compile(pages[0], list);
    const reports = await all(pages, sample(list));
    return { compiled, browser: `Chromium ${browsers[0].version()}`, adapter, seconds: (performance.now() - start) / 1e3, reports };
  } finally {
    await Promise.all(browsers.map((browser) => browser.close()));
    server.close();
  }
}

async function open(browser, url) {
  const page = await bare_page(browser, url);
  await page.evaluate(async () => {
    const { Lab } = await import("/package/lab.js");
    window.lab = await Lab.open();
    // What it says of the adapter; the self-test's findings would be found again, case by case.
    window.gpu = await window.package_.Gpu.open({ self_test: false });
  });
  return page;
}

async function chosen(page) {
  const list = await page.evaluate((tier) => window.lab.cases(tier), options.tier);
  const text = options.only?.toLowerCase();
  const found = text ? list.filter(({ kind, name }) => `${kind}\n${name}`.toLowerCase().includes(text)) : list;
  if (found.length === 0) {
    throw new Error(`--only: no case of this tier contains ${JSON.stringify(options.only)} in its kind or name`);
  }
  return found;
}

/** The first of every so many of each kind. */
function sample(list) {
  const seen = {};
  return list.filter(({ kind }) => (seen[kind] = (seen[kind] ?? -1) + 1) % every === 0);
}

/** Gives every kernel of the list to the browser's compiler; how many there are, and what it refused. */
async function compile(page, list) {
  return page.evaluate(async (list) => {
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    const device = await adapter.requestDevice();
    const kernels = new Map();
    for (const case_ of list) {
      try {
        window.lab.kernels(case_).forEach(({ label, wgsl }) => kernels.set(wgsl, label));
      } catch (error) {
        // What this device has no kernel for is skipped when it is run, too.
        if (error.kind !== "Limit") throw error;
      }
    }
    const refused = [];
    for (const [wgsl, label] of kernels) {
      const { messages } = await device.createShaderModule({ code: wgsl }).getCompilationInfo();
      const said = messages.filter(({ type }) => type !== "info").map(({ message, lineNum }) => `line ${lineNum}: ${message}`);
      if (said.length > 0) refused.push(`${label}: ${said.join("; ")}`);
    }
    device.destroy();
    return { kernels: kernels.size, refused };
  }, list);
}

/** The reports of all cases, in the order of the list. */
async function all(pages, list) {
  const reports = new Array(list.length);
  let next = 0;
  let done = 0;
  const work = async (page) => {
    while (next < list.length) {
      const first = next;
      next += AT_ONCE;
      const found = await page.evaluate(async (cases) => {
        const reports = [];
        for (const case_ of cases) {
          const start = performance.now();
          reports.push({ ...(await window.lab.run_case(case_)), seconds: (performance.now() - start) / 1e3 });
        }
        return reports;
      }, list.slice(first, first + AT_ONCE));
      found.forEach((report, index) => (reports[first + index] = report));
      done += found.length;
      progress(done, list.length);
    }
  };
  await Promise.all(pages.map(work));
  return reports;
}

/** One line that changes on a terminal; elsewhere a line now and then. */
function progress(done, all) {
  const line = `${done} of ${all} cases`;
  if (process.stderr.isTTY) {
    process.stderr.write(done === all ? "\r\x1b[K" : `\r${line}`);
  } else if (done % (AT_ONCE * 16) === 0) {
    process.stderr.write(`${line}\n`);
  }
}

function table(reports) {
  const dtypes = DTYPES.filter((dtype) => reports.some((report) => report.dtype === dtype));
  const kinds = [...new Set(reports.map(({ kind }) => kind))];
  const row = (name, of) => {
    const count = (which) => of.filter(which).length;
    const elements = of.reduce((sum, report) => sum + report.elements, 0);
    const ulp = (dtype) => {
      const found = of.filter((report) => report.dtype === dtype && report.elements > 0);
      return found.length === 0 ? "-" : Math.max(...found.map(({ worst_ulp }) => worst_ulp)).toFixed(3);
    };
    const counts = [of.length, count(({ status }) => status === "passed"), count(is_wrong)];
    return [name, ...counts, count(({ status }) => status === "skipped"), elements, ...dtypes.map(ulp)].map(String);
  };
  const headings = ["kind", "cases", "passed", "failed", "skipped", "elements", ...dtypes.map((dtype) => `${dtype} ULP`)];
  const rows = [headings, ...kinds.map((kind) => row(kind, reports.filter((report) => report.kind === kind))), row("all", reports)];
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  const cell = (text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]));
  return rows.map((cells) => `  ${cells.map(cell).join("  ")}`).join("\n");
}

const found = await run();
const { adapter, compiled, reports } = found;
console.log(`${adapter.name} (${found.browser}, WebGPU): ${adapter.reduction}; ${adapter.reduction_note}`);
console.log(table(reports));
compiled.refused.forEach((what) => console.log(`REFUSED   ${what}`));
for (const { kind, name, status, reason } of reports) {
  if (status !== "passed") {
    console.log(`${status === "skipped" ? "skipped " : "FAILED  "}  ${kind}: ${name}\n          ${reason}`);
  }
}
const wrong = reports.filter(is_wrong).length + compiled.refused.length;
const conclusion = wrong === 0 ? "none wrong" : `${wrong} WRONG`;
console.log(`Kernels compiled: ${compiled.kernels}. Cases run: ${reports.length}; ${conclusion}, in ${found.seconds.toFixed(0)} s.`);
if (options.json) {
  writeFileSync(options.json, `${JSON.stringify(found, null, 2)}\n`);
}
process.exitCode = wrong === 0 ? 0 : 1;
