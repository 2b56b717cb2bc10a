// Numbers, shares and durations as text that can be compared down a column.

export const NONE = "–";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15 });

export const count = (value) =>
  isNumber(value) ? whole.format(value) : value === null || value === undefined ? NONE : String(value);

// Return a number with all digits that count: two answers must not look alike that differ.
export function number(value) {
  if (!isNumber(value)) return value === null || value === undefined ? NONE : String(value);
  if (Number.isSafeInteger(value)) return whole.format(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e15) ? value.toExponential() : fine.format(value);
}

// Return a share in percent. It never rounds up to 100 % or down to 0 %: "all" must be true.
export function share(value) {
  if (!isNumber(value)) return NONE;
  if (value === 1) return "100 %";
  if (value === 0) return "0 %";
  const percent = value * 100;
  const round = Math.round(percent);
  if (round !== 0 && round !== 100 && Math.abs(percent - round) < 1e-9) return `${round} %`;
  const digits = (percent > 99 && percent < 100) || percent < 1 ? [2, 3, 4, 6] : [1];
  for (const places of digits) {
    const text = percent.toFixed(places);
    if (Number(text) !== 100 && Number(text) !== 0) return `${text} %`;
  }
  return percent < 50 ? "< 0.000001 %" : "> 99.999999 %";
}

const UNITS = [
  ["d", 86400000],
  ["h", 3600000],
  ["min", 60000],
  ["s", 1000],
];

// Return a duration in at most two units.
export function duration(ms) {
  if (!isNumber(ms)) return NONE;
  const sign = ms < 0 ? "−" : "";
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${number(Math.round(size * 10) / 10)} ms`;
  if (size < 60000) return `${sign}${Number((size / 1000).toFixed(size < 10000 ? 2 : 1))} s`;
  for (let place = 0; place < 3; place += 1) {
    const [unit, length] = UNITS[place];
    if (size < length) continue;
    const [smaller, part] = UNITS[place + 1];
    const major = Math.floor(size / length);
    const minor = Math.floor((size - major * length) / part);
    return `${sign}${major} ${unit}${minor ? ` ${minor} ${smaller}` : ""}`;
  }
  return NONE;
}

// Return a duration in all of its units, down to milliseconds.
export function exactDuration(ms) {
  let rest = Math.round(Math.abs(ms));
  const parts = [...UNITS, ["ms", 1]].map(([unit, length]) => {
    const some = Math.floor(rest / length);
    rest -= some * length;
    return some ? `${some} ${unit}` : null;
  });
  return `${ms < 0 ? "−" : ""}${parts.filter(Boolean).join(" ") || "0 ms"}`;
}

// Return a share in percent with all of its digits.
export const exactShare = (value) => `${number(Number((value * 100).toPrecision(12)))} %`;

const SIZES = ["B", "kB", "MB", "GB", "TB"];

// Return a size in bytes with three significant digits.
export function bytes(size) {
  if (!isNumber(size)) return NONE;
  const place = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(size, 1)) / 3)));
  return `${number(Number((size / 1000 ** place).toPrecision(3)))} ${SIZES[place]}`;
}

// Return a number with four significant digits: enough for the lines of a chart.
export const rough = (value) => (isNumber(value) ? number(Number(value.toPrecision(4))) : NONE);

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

// Return a value of unknown type as text.
export function value(data) {
  if (data === null || data === undefined) return NONE;
  if (typeof data === "number") return number(data);
  if (typeof data === "boolean") return data ? "yes" : "no";
  return typeof data === "string" ? data : JSON.stringify(data);
}
