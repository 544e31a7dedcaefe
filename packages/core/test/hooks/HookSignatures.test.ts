import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import type { HookKind } from "@reins/core/hooks/Hook"
import { eventOf, HookMac, proofOf } from "@reins/core/hooks/HookSignatures"
import { jsonOf } from "@reins/core/hooks/JsonText"
import { newSecret } from "@reins/core/webhooks/Signature"
import { Effect, Redacted } from "effect"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"

const secret = newSecret()
const other = newSecret()
const key = Redacted.value(secret)
const nowMs = 1_800_000_000_000
const digest = Effect.runSync(HookMac)

const proven = (
  kind: HookKind,
  headers: Readonly<Record<string, string>>,
  body: string,
  secrets: ReadonlyArray<Redacted.Redacted> = [secret, other],
  at = nowMs
) => proofOf(kind, secrets, { header: (name) => headers[name], body: Buffer.from(body) }, at, digest)?.delivery_id

const hex = (body: string, given = key) => createHmac("sha256", given).update(body).digest("hex")

const standard = (body: string, id = "msg_1", given = key) => ({
  "webhook-id": id,
  "webhook-timestamp": String(nowMs / 1000),
  "webhook-signature": new Webhook(given).sign(id, new Date(nowMs), body)
})

const bodies = ["{}", '{"a":"\u00fc\u2028 \\u0000"}', "x".repeat(100_000), '{"action":"created"}\n']

/** The headers with which each kind is proved by a secret. */
const signedBy: Readonly<Record<HookKind, (body: string, given?: string) => Readonly<Record<string, string>>>> = {
  standard: (body, given) => standard(body, "d", given),
  github: (body, given) => ({ "x-hub-signature-256": `sha256=${hex(body, given)}`, "x-github-delivery": "d" }),
  gitea: (body, given) => ({ "x-gitea-signature": hex(body, given), "x-gitea-delivery": "d" }),
  gitlab: (_, given = key) => ({ "x-gitlab-token": given, "webhook-id": "d" }),
  token: (_, given = key) => ({ authorization: `Bearer ${given}`, "idempotency-key": "d" })
}
const kinds = Object.keys(signedBy) as ReadonlyArray<HookKind>

describe("the proof of a call", () => {
  it("is made by either secret, and by no other one", () => {
    for (const kind of kinds)
      for (const body of bodies) {
        const headers = signedBy[kind](body)
        assert.strictEqual(proven(kind, headers, body, [secret, other]), "d", kind)
        assert.strictEqual(proven(kind, headers, body, [other, secret]), "d", kind)
        assert.isUndefined(proven(kind, headers, body, [other, newSecret()]), kind)
        assert.isUndefined(proven(kind, {}, body), kind)
        if (kind !== "gitlab" && kind !== "token") assert.isUndefined(proven(kind, headers, `${body} `), kind)
      }
  })

  it("of GitHub is the one that its documentation computes", () => {
    const headers = {
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      "x-github-delivery": "d"
    }
    assert.strictEqual(proven("github", headers, "Hello, World!", [Redacted.make("It's a Secret to Everybody")]), "d")
    const sha1 = createHmac("sha1", key).update("{}").digest("hex")
    assert.isUndefined(proven("github", { "x-hub-signature": `sha1=${sha1}`, "x-github-delivery": "d" }, "{}"))
  })

  it("of Standard Webhooks holds for five minutes, for its id, and for one of several signatures", () => {
    const headers = standard("{}")
    assert.strictEqual(proven("standard", headers, "{}"), "msg_1")
    const several = { ...headers, "webhook-signature": `v1,AAAA v1a,zz ${headers["webhook-signature"]}` }
    assert.strictEqual(proven("standard", several, "{}"), "msg_1")
    assert.isUndefined(proven("standard", { ...headers, "webhook-id": "msg_2" }, "{}"))
    for (const minutes of [6, -6])
      assert.isUndefined(proven("standard", headers, "{}", [secret], nowMs + minutes * 60_000))
    for (const time of ["1e9", "", "-1"])
      assert.isUndefined(proven("standard", { ...headers, "webhook-timestamp": time }, "{}"))
  })

  it("of GitLab is its signature where it sends one, and never an id alone", () => {
    assert.strictEqual(proven("gitlab", standard("{}"), "{}"), "msg_1")
    assert.isUndefined(
      proven("gitlab", { ...standard("{}"), "webhook-signature": "v1,AAAA", "x-gitlab-token": key }, "{}")
    )
    assert.isUndefined(proven("gitlab", { "webhook-id": "d", "x-gitlab-token": "" }, "{}"))
  })

  it("without an id is one delivery within a minute for one body", () => {
    const headers = { authorization: `Bearer ${key}` }
    const first = proven("token", headers, "{}")
    assert.match(first ?? "", /^sha256:/)
    assert.strictEqual(proven("token", headers, "{}", [secret], nowMs + 1000), first)
    assert.notStrictEqual(proven("token", headers, "{ }"), first)
    assert.notStrictEqual(proven("token", headers, "{}", [secret], nowMs + 60_000), first)
    assert.isAtMost((proven("token", { ...headers, "idempotency-key": "x".repeat(5000) }, "{}") ?? "").length, 200)
  })

  it("costs one digest of the body for each secret, whatever comes", () => {
    const header = fc.constantFrom(
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "x-hub-signature-256",
      "authorization",
      "x-gitlab-token"
    )
    const headers = fc.dictionary(header, fc.string({ maxLength: 40 }), { maxKeys: 6 })
    fc.assert(
      fc.property(fc.constantFrom(...kinds), headers, fc.uint8Array({ maxLength: 200 }), (kind, given, body) => {
        let digests = 0
        const counting = {
          of: (by: string | Uint8Array, parts: ReadonlyArray<string | Uint8Array>) => {
            if (parts.includes(body)) digests++
            return digest.of(by, parts)
          }
        }
        const proof = proofOf(kind, [secret, other], { header: (name) => given[name], body }, nowMs, counting)
        return proof === undefined && digests === 2
      })
    )
  })
})

describe("what a call says it is", () => {
  it("is its event, without control characters, and JSON of bounded depth", () => {
    const event = (kind: HookKind, headers: Readonly<Record<string, string>>, body: unknown = {}) =>
      eventOf(kind, { header: (name) => headers[name], body: Buffer.alloc(0) }, body)
    assert.strictEqual(event("github", { "x-github-event": "push" }), "push")
    assert.strictEqual(event("gitlab", { "x-gitlab-event": "Push Hook" }), "Push Hook")
    assert.strictEqual(event("standard", {}, { type: "turn.failed\u0000" }), "turn.failed\ufffd")
    assert.isNull(event("token", {}, { type: 5 }))
    assert.isUndefined(jsonOf(Buffer.from("[".repeat(101) + "]".repeat(101))))
    assert.deepStrictEqual(jsonOf(Buffer.from('{"a":"[[[\\"["}'))?.value, { a: '[[["[' })
    for (const text of ["", " "]) assert.strictEqual(jsonOf(Buffer.from(text)) === undefined, text !== "")
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void jsonOf(bytes)))
  })
})
