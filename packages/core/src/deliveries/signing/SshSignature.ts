import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto"

// The signatures of OpenSSH (PROTOCOL.sshsig) with ed25519 keys, as git verifies them. The same key and content give the same signature.

/** A byte string behind its length. */
const packed = (bytes: string | Uint8Array): Buffer => {
  const content = Buffer.from(bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  return Buffer.concat([length, content])
}

const algorithm = "ssh-ed25519"
const magic = Buffer.from("SSHSIG")
const version = Buffer.from([0, 0, 0, 1])

/** The public key as OpenSSH packs it. The last 32 bytes of its DER form are the key itself. */
const packedKey = (key: KeyObject): Buffer =>
  Buffer.concat([packed(algorithm), packed(key.export({ format: "der", type: "spki" }).subarray(-32))])

/** A public key as one line of `authorized_keys`. */
export const publicLine = (key: KeyObject): string => `${algorithm} ${packedKey(key).toString("base64")}`

/** The fingerprint that `ssh-keygen -l` shows. */
export const fingerprintOf = (key: KeyObject): string =>
  `SHA256:${createHash("sha256")
    .update(packedKey(key))
    .digest("base64")
    .replace(/={1,2}$/, "")}`

/** The armoured signature of a content for git. */
export const sshSignature = (privateKey: KeyObject, content: Uint8Array): string => {
  const terms = Buffer.concat([packed("git"), packed(""), packed("sha512")])
  const digest = packed(createHash("sha512").update(content).digest())
  const signature = sign(null, Buffer.concat([magic, terms, digest]), privateKey)
  const blob = Buffer.concat([
    magic,
    version,
    packed(packedKey(createPublicKey(privateKey))),
    terms,
    packed(Buffer.concat([packed(algorithm), packed(signature)]))
  ])
  const lines = blob.toString("base64").match(/.{1,70}/g) ?? []
  return ["-----BEGIN SSH SIGNATURE-----", ...lines, "-----END SSH SIGNATURE-----"].join("\n")
}
