// "Check it": the library's verification, case by case.

import { $, breathe, deviceName, element, origin } from "./dom.js";
import { counted, grouped, number } from "./format.js";
import { Task } from "./task.js";

/** How long cases may run before the page may draw and take input. */
const TURN_MS = 40;
/** How often the tables are written anew. */
const TABLES_MS = 500;
const FAILED = ["failed", "broken"];

export class Check extends Task {
  constructor() {
    super("check");
  }

  async run() {
    const tier = document.querySelector("[name=tier]:checked").value;
    const only = $("only").value.trim();
    const lab = await this.lab();
    const holds = (text) => text.toLowerCase().includes(only.toLowerCase());
    const cases = lab.cases(tier).filter(({ kind, name }) => holds(kind) || holds(name));
    if (cases.length === 0) {
      this.blame(`only: expected a part of a case’s kind or name, got ${only}; leave it empty for all cases`);
      return "Nothing was checked.";
    }
    const reports = [];
    const start = performance.now();
    $("check-results").hidden = false;
    this.say(`Running ${counted(cases.length, "case", "cases")} …`);
    let [turn, tables] = [start, -Infinity];
    for (const case_ of cases) {
      if (this.stopped) break;
      const now = performance.now();
      if (now - turn > TURN_MS) {
        this.progress(reports.length, cases.length);
        $("check-case").textContent = `${grouped(reports.length)} of ${grouped(cases.length)}. ${case_.kind}: ${case_.name}`;
        if (now - tables > TABLES_MS) {
          show(reports);
          tables = now;
        }
        await breathe();
        turn = performance.now();
      }
      reports.push(await lab.run_case(case_));
    }
    const seconds = (performance.now() - start) / 1000;
    this.progress(reports.length, cases.length);
    $("check-case").textContent = "";
    show(reports);
    const counts = countsOf(reports);
    this.report = { ...origin(this.gpu), tier, only, cases: cases.length, ran: reports.length, stopped: this.stopped, seconds, ...counts, reports };
    return conclusion(this.stopped, reports, cases.length, counts, seconds, deviceName(this.gpu));
  }
}

function conclusion(stopped, reports, cases, { passed, failed, skipped }, seconds, device) {
  const ran = stopped
    ? `Stopped after ${grouped(reports.length)} of ${counted(cases, "case", "cases")}`
    : `${counted(cases, "case", "cases")} in ${number(seconds, 3)} s`;
  const outcome = failed > 0 ? `${grouped(failed)} failed, ${grouped(passed)} passed` : `none failed, ${grouped(passed)} passed`;
  return `${ran} on ${device}: ${outcome}${skipped > 0 ? `, ${grouped(skipped)} skipped` : ""}.`;
}

function countsOf(reports) {
  const count = (...statuses) => reports.filter(({ status }) => statuses.includes(status)).length;
  return { passed: count("passed"), failed: count(...FAILED), skipped: count("skipped") };
}

function show(reports) {
  const kinds = [...new Set(reports.map(({ kind }) => kind))];
  $("check-kinds").replaceChildren(...kinds.map((kind) => countsRow(kind, reports.filter((report) => report.kind === kind))));
  $("check-total").replaceChildren(countsRow("All", reports));
  const compared = reports.filter(({ elements }) => elements > 0);
  const dtypes = [...new Set(compared.map(({ dtype }) => dtype))];
  $("check-worst").replaceChildren(
    ...dtypes.map((dtype) => {
      const of = compared.filter((report) => report.dtype === dtype);
      const worst = of.reduce((most, report) => (report.worst_ulp > most.worst_ulp ? report : most));
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, dtype),
        element("td", { class: "n" }, number(worst.worst_ulp, 3)),
        element("td", {}, `${worst.kind}: ${worst.name}`),
      );
    }),
  );
  $("check-reasons").replaceChildren(
    ...[list("Failed", "failed", reports, FAILED), list("Skipped", "skipped", reports, ["skipped"])].filter((part) => part !== null),
  );
}

function countsRow(name, reports) {
  const { passed, failed, skipped } = countsOf(reports);
  const cell = (count, kind) => element("td", { class: `n ${count > 0 ? kind : "none"}` }, grouped(count));
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    cell(reports.length, "cases"),
    cell(passed, "passed"),
    cell(failed, "failed"),
    cell(skipped, "skipped"),
    cell(reports.reduce((sum, { elements }) => sum + elements, 0), "elements"),
  );
}

function list(title, kind, reports, statuses) {
  const found = reports.filter(({ status }) => statuses.includes(status));
  if (found.length === 0) return null;
  const items = found.map(({ kind: of, name, reason }) => element("li", {}, element("strong", {}, `${of}: ${name}`), ` ${reason ?? ""}`));
  return element("div", { class: `reasons ${kind}` }, element("h3", {}, `${title}, and why`), element("ul", {}, items));
}
