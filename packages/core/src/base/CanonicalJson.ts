import { createHash } from "node:crypto"

/**
 * JSON with the keys of every object in code unit order and no white space, so that equal values give equal text. A text that is longer than
 * `longest` stands in it as its digest.
 */
export const canonicalJson = (value: unknown, longest = Number.POSITIVE_INFINITY): string => {
  if (typeof value === "string") return JSON.stringify(value.length > longest ? digestOf(value) : value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null, longest)).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner, longest)}`).join()}}`
}

/** `sha256:<hex>` of a text or of bytes. */
export const digestOf = (content: string | Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`
