import { assert, describe, it } from "@effect/vitest"
import { Webhook } from "standardwebhooks"
import { WebhookVerificationError, webhooks } from "../src/index.js"

const secret = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`
const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const body = JSON.stringify({
  type: "turn.succeeded",
  timestamp: "2026-01-01T00:00:00.000Z",
  position: 3,
  data: { text: "é😀" }
})

const headersOf = (secrets: ReadonlyArray<string>, at = new Date()) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": secrets.map((each) => new Webhook(each).sign("evt_1", at, body)).join(" ")
})

const refusal = async (verifying: Promise<unknown>): Promise<string> => {
  const error = await verifying.catch((error: unknown) => error)
  assert.instanceOf(error, WebhookVerificationError)
  return error.message
}

describe("webhooks.verify", () => {
  it("accepts what the public library signs, as text and as bytes, with the headers of Node and of fetch", async () => {
    const headers = headersOf([secret])
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
    for (const given of [headers, new Headers(headers), upper])
      for (const text of [
        body,
        new TextEncoder().encode(body),
        Buffer.from(body),
        new TextEncoder().encode(body).buffer
      ])
        assert.deepStrictEqual(Object(await webhooks.verify(text, given, secret)), JSON.parse(body))
  })

  it("accepts any of the signatures of a rotation", async () => {
    const headers = headersOf([other, secret])
    assert.strictEqual((await webhooks.verify(body, headers, secret)).position, 3)
    assert.strictEqual((await webhooks.verify(body, headers, other)).position, 3)
  })

  it("refuses another secret, another body, another id and another time", async () => {
    const headers = headersOf([secret])
    const wrong = [
      () => webhooks.verify(body, headers, other),
      () => webhooks.verify(`${body} `, headers, secret),
      () => webhooks.verify(body, { ...headers, "webhook-id": "evt_2" }, secret),
      () =>
        webhooks.verify(
          body,
          { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) },
          secret
        ),
      () =>
        webhooks.verify(
          body,
          { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v1a,") },
          secret
        ),
      () => webhooks.verify(body, { ...headers, "webhook-signature": "v1,é v1, v1,####" }, secret)
    ]
    for (const each of wrong) assert.include(await refusal(each()), "No webhook-signature")
  })

  it("refuses what is too old or from the future, by a tolerance", async () => {
    for (const [seconds, tolerance, isGood] of [
      [-290, undefined, true],
      [-310, undefined, false],
      [310, undefined, false],
      [-310, 600, true],
      [-20, 10, false]
    ] as const) {
      const headers = headersOf([secret], new Date(Date.now() + seconds * 1000))
      const verifying = webhooks.verify(
        body,
        headers,
        secret,
        tolerance === undefined ? {} : { toleranceSeconds: tolerance }
      )
      if (isGood) assert.strictEqual((await verifying).position, 3)
      else assert.include(await refusal(verifying), "too far")
    }
    assert.include(
      await refusal(webhooks.verify(body, { ...headersOf([secret]), "webhook-timestamp": "1e9" }, secret)),
      "no time"
    )
  })

  it("refuses a request without its headers, and says what is wrong with a secret", async () => {
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"])
      assert.include(
        await refusal(webhooks.verify(body, { ...headersOf([secret]), [name]: undefined }, secret)),
        "lacks"
      )
    for (const wrong of ["", " ", "whsec_", "whsec_#", "secret"]) {
      const error = await webhooks.verify(body, headersOf([secret]), wrong).catch((error: unknown) => error)
      assert.instanceOf(error, TypeError)
    }
  })

  it("tells what a program has left out, apart from a signature that is wrong", async () => {
    const told = async (...given: ReadonlyArray<unknown>) => {
      // Programs without types pass whatever they have.
      const error = await Reflect.apply(webhooks.verify, undefined, given).catch((error: unknown) => error)
      assert.instanceOf(error, TypeError)
      return error.message
    }
    const headers = headersOf([secret])
    for (const parsed of [JSON.parse(body), [], 7, true]) assert.match(await told(parsed, headers, secret), /parsed/)
    for (const none of [undefined, null]) assert.match(await told(none, headers, secret), /body .* missing/)
    for (const none of [undefined, null, 7]) assert.match(await told(body, headers, none), /secret .* missing/)
    for (const none of [undefined, null]) assert.match(await told(body, none, secret), /headers .* missing/)
    assert.strictEqual(
      await refusal(webhooks.verify(body, {}, secret)),
      "The request lacks webhook-id, webhook-timestamp, webhook-signature."
    )
  })
})
