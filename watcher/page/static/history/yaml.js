// Converts data to YAML for display. The YAML is never parsed.

const PLAIN = /^[A-Za-z_./][\w ./@%+:-]*$/;
const LINE_LENGTH = 90;
const RESERVED_WORDS = /^(true|false|null|yes|no|on|off|~)$/i;

export function yamlText(value) {
  return isNested(value) ? nested(value, "") : scalar(value);
}

function nested(value, indent) {
  const lines = Array.isArray(value)
    ? value.map((item) => `${indent}- ${inItem(item, `${indent}  `)}`)
    : Object.entries(value).map(([key, item]) => `${indent}${scalar(key)}:${inField(item, indent)}`);
  return lines.join("\n");
}

/** A short item is written on one line. A longer item begins on the line of its dash. */
function inItem(item, indent) {
  if (!isNested(item)) return scalar(item);
  const isFlat = !Array.isArray(item) && !Object.values(item).some(isNested);
  const fields = isFlat ? Object.entries(item).map(([key, value]) => `${scalar(key)}: ${scalar(value)}`) : [];
  const line = `{${fields.join(", ")}}`;
  return isFlat && line.length <= LINE_LENGTH ? line : nested(item, indent).slice(indent.length);
}

function inField(item, indent) {
  return isNested(item) ? `\n${nested(item, `${indent}  `)}` : ` ${scalar(item)}`;
}

function isNested(value) {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  const isPlain = PLAIN.test(value) && !RESERVED_WORDS.test(value) && !/: |:$| $/.test(value);
  return isPlain ? value : JSON.stringify(value);
}
