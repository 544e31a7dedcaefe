import { assert, describe, it } from "@effect/vitest"
import { LoginInput } from "@reins/core/identity/AccountsApi"
import { MessageSend } from "@reins/core/sessions/messages/ConversationApi"
import { FileUpload } from "@reins/core/worktrees/FilesApi"
import { echoed, maxEchoedChars } from "@reins/server/http/validation/EchoedInput"
import { maxErrors, toDetails, type ValidationError } from "@reins/server/http/validation/Validation"
import { Either, FastCheck, ParseResult, Schema } from "effect"

const detailsOf = (schema: Schema.Schema.AnyNoContext, input: unknown): ReadonlyArray<ValidationError> => {
  const decoded = ParseResult.decodeUnknownEither(schema, { errors: "all" })(input)
  return Either.isLeft(decoded) ? toDetails(["body"], decoded.left, input) : assert.fail("nothing is wrong with it")
}

const mask = "**********"

describe("the input of an error", () => {
  it.prop(
    "is the value itself, as long as it is short and names no secret",
    [
      FastCheck.jsonValue({ maxDepth: 4 }).filter(
        (value) => !/pass|secret|token|credential|key|auth|cookie/i.test(JSON.stringify(value))
      )
    ],
    ([value]) => {
      FastCheck.pre(JSON.stringify(value).length < maxEchoedChars)
      assert.deepStrictEqual(echoed(["body", "field"], value), value)
    }
  )

  it.prop(
    "is never much longer than its bound, whatever was sent",
    [FastCheck.jsonValue({ maxDepth: 6, stringUnit: "binary" }), FastCheck.integer({ min: 1, max: 3000 })],
    ([value, times]) => {
      const shown = JSON.stringify(
        echoed(["body"], {
          list: Array.from({ length: times }, () => value),
          text: JSON.stringify(value).repeat(times)
        })
      )
      // A control character takes six characters in JSON.
      assert.isAtMost(shown.length, 6 * maxEchoedChars + 100)
    }
  )

  it("of a long text is its beginning and an ellipsis, with no character cut in two", () => {
    const shown = echoed(["body", "text"], `${"x".repeat(maxEchoedChars - 1)}😀 and more`)
    assert.strictEqual(shown, `${"x".repeat(maxEchoedChars - 1)}…`)
  })

  it("of a large body is its first members", () => {
    const [error] = detailsOf(FileUpload, { encoding: "utf-8", path: "x".repeat(30_000_000), mode: 420 })
    assert.deepInclude(error, { type: "missing", loc: ["body", "content"] })
    const { input } = error ?? assert.fail()
    assert.deepInclude(input, { encoding: "utf-8" })
    assert.isBelow(JSON.stringify(input).length, maxEchoedChars + 100)
    assert.isTrue(JSON.stringify(input).endsWith('x…"}'))
  })

  it("shows what is nested deeper than eight as empty", () => {
    let value: unknown = "deep"
    for (let depth = 0; depth < 150; depth++) value = [value]
    assert.strictEqual(JSON.stringify(echoed(["body"], value)), "[".repeat(10) + "]".repeat(10))
  })

  it("masks everything in a field that holds a secret, however it is spelled and whatever is in it", () => {
    const names =
      "password new_password currentPassword token access_token api_key apiKey API-Key client_secret credential auth_json private_key".split(
        " "
      )
    for (const name of names) {
      assert.deepStrictEqual(echoed(["body"], { [name]: "canary" }), { [name]: mask }, name)
      assert.strictEqual(echoed(["body", name, 0], "canary"), mask, name)
    }
    assert.deepStrictEqual(
      echoed(["body"], { credential: { base_url: "canary", parts: ["canary", { a: 5 }, null] } }),
      {
        credential: { base_url: mask, parts: [mask, { a: mask }, null] }
      }
    )
  })

  it("masks a body that names a secret and was not sent as JSON", () => {
    for (const text of ['{"email":"a@b.c","password":"canary"}', "email=a&password=canary"]) {
      assert.deepInclude(detailsOf(LoginInput, text)[0], { type: "dict_type", input: mask })
    }
    assert.deepInclude(detailsOf(LoginInput, "{}")[0], { type: "dict_type", input: "{}" })
  })
})

describe("the errors of a part", () => {
  it("are told of up to a hundred, and a long name in their path is cut", () => {
    const content = Array.from({ length: 5_000 }, () => ({}))
    assert.strictEqual(detailsOf(MessageSend, { content }).length, maxErrors)
    const labels = Schema.Struct({ labels: Schema.Record({ key: Schema.String, value: Schema.String }) })
    const [error] = detailsOf(labels, { labels: { ["n".repeat(100_000)]: 5 } })
    assert.deepStrictEqual(error?.loc, ["body", "labels", `${"n".repeat(256)}…`])
    assert.strictEqual(error?.input, 5)
  })
})
