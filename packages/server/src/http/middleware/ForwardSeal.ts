import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import type { KeyRing } from "@reins/base/secrets/KeyRing"
import type { Exchange } from "../Exchange.js"

/** The header by which a node proves that it has sent a request on. */
const header = "x-reins-from"

/** A request as the proof is bound to it. */
export interface SealedRequest {
  readonly method: string
  /** The path with the query. */
  readonly url: string
}

/** The facts that a node vouches for. */
export interface ForwardedBy {
  readonly node: string
  /** The address of the client, as the node saw it. */
  readonly clientAddress: string
  /** True for a call that `/mcp` of that node makes. */
  readonly isForApps: boolean
}

/**
 * Makes and reads the proof that a request comes from a node of the installation. Its key is derived from the key ring, which the nodes share, and it
 * is good for the request with this method, path and query alone.
 */
export const sealOf = (ring: KeyRing["Type"]) => {
  const derived = new Map<string, Buffer>()
  const keyOf = (id: string, key: Buffer): Buffer => {
    const known = derived.get(id) ?? Buffer.from(hkdfSync("sha256", key, "", "reins forwarded requests", 32))
    derived.set(id, known)
    return known
  }
  const digestOf = (key: Buffer, { method, url }: SealedRequest, facts: string): Buffer =>
    createHmac("sha256", key).update([method, url, facts].join("\n")).digest()

  return {
    header,
    make: (request: SealedRequest, { clientAddress, isForApps, node }: ForwardedBy): string => {
      const { id, key } = ring.current
      const facts = Buffer.from(JSON.stringify([id, node, clientAddress, isForApps])).toString("base64url")
      return `${facts}.${digestOf(keyOf(id, key), request, facts).toString("base64url")}`
    },
    /** Undefined for a request that comes from elsewhere, whatever it says. */
    read: (exchange: Exchange): ForwardedBy | undefined => {
      const given = exchange.header(header)
      if (given === undefined) return undefined
      const [facts = "", digest = ""] = given.split(".")
      const parts = factsIn(facts)
      const key = parts === undefined ? undefined : ring.find(parts.id)
      if (parts === undefined || key === undefined) return undefined
      const { method, request } = exchange
      const expected = digestOf(keyOf(parts.id, key), { method, url: request.url ?? "/" }, facts)
      const found = Buffer.from(digest, "base64url")
      return found.length === expected.length && timingSafeEqual(found, expected) ? parts : undefined
    }
  }
}

const factsIn = (text: string): (ForwardedBy & { readonly id: string }) | undefined => {
  try {
    const [id, node, clientAddress, isForApps]: ReadonlyArray<unknown> = JSON.parse(
      Buffer.from(text, "base64url").toString()
    )
    return typeof id === "string" && typeof node === "string" && typeof clientAddress === "string"
      ? { id, node, clientAddress, isForApps: isForApps === true }
      : undefined
  } catch {
    return undefined
  }
}
