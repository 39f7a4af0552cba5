/** Whatever goes wrong is one of these. */
export class NormError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "NormError";
    this.kind = kind;
  }
}

/** A value as messages have it. */
export function describe(value) {
  if (typeof value === "string") {
    return JSON.stringify(value);
  }
  if (typeof value === "function") {
    return "a function";
  }
  if (typeof value !== "object" || value === null) {
    return String(value);
  }
  const name = value.constructor?.name || "Object";
  return `${/^([AEIO]|U(?!int))/.test(name) ? "an" : "a"} ${name}`;
}
