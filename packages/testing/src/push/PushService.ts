import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"
import { onLoopback } from "../connections/Loopback.js"

/** A notice as it arrives at a push service, which cannot read it. */
interface Arrived {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A stand-in of a push service on loopback, which answers with the status that it is told. */
export const newPushService = Effect.gen(function* () {
  const arrived: Array<Arrived> = []
  const waiting = new Set<() => void>()
  const answer = { status: 201 }
  const port = yield* onLoopback(() =>
    createServer(async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      arrived.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) })
      response.writeHead(answer.status).end()
      for (const look of waiting) look()
    })
  )
  /** Waits until so many notices have arrived. */
  const until = (count: number) =>
    Effect.async<void>((resume) => {
      const look = () => {
        if (arrived.length < count) return
        waiting.delete(look)
        resume(Effect.void)
      }
      waiting.add(look)
      look()
      return Effect.sync(() => waiting.delete(look))
    })
  return { answer, arrived, port, until, origin: `http://127.0.0.1:${port}` }
})

/** A browser with keys of its own, and the way in which it reads a notice (RFC 8291, RFC 8188). */
export const newBrowser = () => {
  const pair = createECDH("prime256v1")
  pair.generateKeys()
  const auth = randomBytes(16)
  const read = (body: Buffer): unknown => {
    const [salt, keyLength] = [body.subarray(0, 16), body[20] ?? 0]
    const sender = body.subarray(21, 21 + keyLength)
    const sealed = body.subarray(21 + keyLength)
    const about = Buffer.concat([Buffer.from("WebPush: info\0"), pair.getPublicKey(), sender])
    const secret = Buffer.from(hkdfSync("sha256", pair.computeSecret(sender), auth, about, 32))
    const part = (info: string, length: number) => Buffer.from(hkdfSync("sha256", secret, salt, info, length))
    const opening = createDecipheriv(
      "aes-128-gcm",
      part("Content-Encoding: aes128gcm\0", 16),
      part("Content-Encoding: nonce\0", 12)
    )
    opening.setAuthTag(sealed.subarray(-16))
    const plain = Buffer.concat([opening.update(sealed.subarray(0, -16)), opening.final()])
    return JSON.parse(plain.subarray(0, plain.lastIndexOf(2)).toString())
  }
  return { keys: { p256dh: pair.getPublicKey("base64url"), auth: auth.toString("base64url") }, read }
}

/** The claims of the server, once its signature was checked against the key that it names (RFC 8292). */
export const claimsIn = (authorization: string | undefined): { readonly claims: unknown; readonly key: string } => {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization ?? "") ?? []
  const [head = "", body = "", signature = ""] = token.split(".")
  const point = Buffer.from(key, "base64url")
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url")
  }
  const publicKey = createPublicKey({ key: jwk, format: "jwk" })
  const signed = Buffer.from(`${head}.${body}`)
  const isTrue = verify(
    "sha256",
    signed,
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url")
  )
  if (!isTrue) throw new Error("The signature is wrong.")
  return { claims: JSON.parse(Buffer.from(body, "base64url").toString()), key }
}
