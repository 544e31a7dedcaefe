import { createHash } from "node:crypto"

/**
 * JSON with the keys of every object in code unit order and no white space: equal values give equal text. Texts that are longer than
 * `longest` are in it by their digest.
 */
export const canonicalJson = (value: unknown, longest = Number.POSITIVE_INFINITY): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" && inner.length > longest
      ? digestOf(inner)
      : typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
        : inner
  )

/** `sha256:<hex>` of a text. */
export const digestOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`
