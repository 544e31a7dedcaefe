import { generateKeyPairSync, sign } from "node:crypto"
import https from "node:https"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { Effect } from "effect"

const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...parts: ReadonlyArray<Buffer>) => der(0x30, ...parts)
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const extension = (hex: string, value: Buffer) => sequence(identifier(hex), der(0x04, value))

const ecdsaWithSha256 = sequence(identifier("2a8648ce3d040302"))
const commonName = sequence(
  der(0x31, sequence(identifier("550403"), der(0x0c, Buffer.from("An authority of the tests"))))
)
const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("490101000000Z")))

/** A certificate for the names that nobody but itself vouches for, as PEM: who trusts it trusts it as an authority. */
const selfSigned = (names: ReadonlyArray<string>) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const alternatives = sequence(...names.map((name) => der(0x82, Buffer.from(name))))
  const isAuthority = sequence(der(0x01, Buffer.from([0xff])))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    commonName,
    validity,
    commonName,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension("551d11", alternatives), extension("551d13", isAuthority)))
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", content, privateKey))
  const encoded = sequence(content, ecdsaWithSha256, signature).toString("base64")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${encoded.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" })
  }
}

/** A server on loopback that speaks TLS until the scope closes: how often it was connected to and asked, and its certificate. */
export const tlsServer = (names: ReadonlyArray<string>, listener: Listener) =>
  Effect.gen(function* () {
    const { cert, key } = selfSigned(names)
    const seen = { connections: 0, requests: 0 }
    const port = yield* onLoopback(() =>
      https
        .createServer({ cert, key }, (request, response) => {
          seen.requests++
          listener(request, response)
        })
        .on("connection", () => seen.connections++)
    )
    return { cert, seen, port }
  })

type Listener = NonNullable<Parameters<typeof https.createServer>[1]>
