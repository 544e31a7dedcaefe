import { errorKinds } from "@reins/base/domain/ReinsError"
import { forPrograms, refusalSentence, sentences, validationSentence } from "@reins/cli/client/ErrorSentences"
import { ReinsApiError, ReinsValidationError } from "@reins/client"
import { assert, describe, it } from "vitest"

/** Words of the API as the server's own messages have them. */
const spoken =
  "The thing cannot be. GET /api/harnesses lists those. Post a new credential version. Name one as harness.model, or PATCH body.harness. Value error, no."

/** Details that some code has, so that each form of a sentence is made. */
const facts: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  {},
  { role: "viewer", workspace_id: "wsp_x" },
  { required: "admin", scopes: ["read", "write"] },
  { path: "src/a.ts" },
  { workspace: "absent" },
  { slug: "shop" },
  { connection_id: "con_x" },
  { why: "no_price", model: "gpt-5", provider_id: "alpha" },
  { provider_id: "alpha", capability: "steer", supported_by: ["beta"] },
  { limit_characters: 1000, characters: 2000 },
  { queued_turns: 20, limit: 20 }
]

const refused = (code: keyof typeof errorKinds, details: Readonly<Record<string, unknown>>) => {
  const { category, retryable, status } = errorKinds[code]
  return new ReinsApiError({ code, category, retryable, status, details, message: spoken, requestId: "req_1" })
}

describe("a refusal of the server", () => {
  it("has a sentence for a person for every code of the contract, without a word of the API", () => {
    const codes = Object.keys(errorKinds).filter((code): code is keyof typeof errorKinds => code in errorKinds)
    assert.sameMembers(Object.keys(sentences), codes)
    for (const code of codes)
      for (const details of facts) {
        const sentence = refusalSentence(refused(code, details))
        assert.notMatch(sentence, forPrograms, code)
        assert.match(sentence, /^[A-Z0-9`].*[.)]$|^\S+.*KEY reins init$/, code)
        assert.notInclude(sentence, "undefined", code)
      }
  })

  it("names the flag or command that mends it, and what the details know", () => {
    const say = (code: keyof typeof errorKinds, details = {}) => refusalSentence(refused(code, details))
    assert.match(say("model_required"), /--model/)
    assert.match(say("connection_required", { kind: "alpha_gateway" }), /reins init --gateway/)
    assert.match(say("insufficient_scope", { required: "admin", scopes: ["read"] }), /scope admin, and yours has read/)
    assert.match(say("already_exists", { slug: "shop" }), /named shop/)
    assert.match(say("invalid_transition"), /^The thing cannot be\./)
    assert.match(say("internal_error"), /\(request req_1\)$/)
  })

  it("of values names the option that gave each", () => {
    const error = new ReinsValidationError({
      message: "body.repository.url: Value error, no",
      requestId: null,
      detail: [
        { loc: ["body", "repository", "url"], msg: "Value error, Use the https URL", type: "value_error" },
        { loc: ["body", "harness", "model"], msg: "String should have at most 200 characters", type: "too_long" },
        { loc: ["body", "budget", "max_tokens"], msg: "Value error, Give a number of tokens", type: "value_error" }
      ]
    })
    assert.strictEqual(
      validationSentence(error),
      "--repo: Use the https URL.\n--model: String should have at most 200 characters.\nbudget max tokens: Give a number of tokens."
    )
  })
})
