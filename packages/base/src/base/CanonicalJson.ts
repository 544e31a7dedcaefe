import { createHash } from "node:crypto"

/** JSON with the keys of every object in code unit order and no white space, so that equal values give equal text. */
export const canonicalJson = (value: unknown): string => written(value, JSON.stringify)

/** `canonicalJson` in which a text that is longer than `longest` stands as its digest. */
export const digestedJson = (value: unknown, longest: number): string =>
  written(value, (text) => JSON.stringify(text.length > longest ? digestOf(text) : text))

const written = (value: unknown, textOf: (text: string) => string): string => {
  if (typeof value === "string") return textOf(value)
  if (Array.isArray(value)) return `[${value.map((item) => written(item ?? null, textOf)).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${written(inner, textOf)}`).join()}}`
}

/** `sha256:<hex>` of a text or of bytes. */
export const digestOf = (content: string | Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`
