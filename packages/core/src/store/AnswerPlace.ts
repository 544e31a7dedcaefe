import { hash } from "node:crypto"

/**
 * The place of an answer among all: 132 bits of the SHA-256 of its scope and key. A place is short, because each mutation writes one at random
 * into an index, and what that costs grows with its length.
 */
export const placeOf = ({ key, scope }: { readonly scope: string; readonly key: string }): string =>
  hash("sha256", `${scope}\n${key}`, "base64url").slice(0, 22)
