import { createECDH } from "node:crypto"

/** The keys with which a server proves to push services that it is the one that a browser subscribed to (RFC 8292). */
export interface VapidKeys {
  readonly publicKey: string
  readonly privateKey: string
}

const curve = "prime256v1"

/** The keys that belong to a private one, base64url. Undefined for a text that is none. */
export const vapidKeysOf = (privateKey: string): VapidKeys | undefined => {
  try {
    const pair = createECDH(curve)
    pair.setPrivateKey(Buffer.from(privateKey, "base64url"))
    return { privateKey, publicKey: pair.getPublicKey("base64url") }
  } catch {
    return undefined
  }
}

/** A new private key, base64url. */
export const newPushKey = (): string => {
  const pair = createECDH(curve)
  pair.generateKeys()
  // The curve gives a shorter text for a number that begins with zeros.
  return Buffer.from(pair.getPrivateKey("hex").padStart(64, "0"), "hex").toString("base64url")
}
