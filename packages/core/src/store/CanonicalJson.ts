import { createHash } from "node:crypto"

/** JSON with the keys of every object in code unit order and no white space: equal values give equal text. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner
  )

/** `sha256:<hex>` of a text. */
export const digestOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`
