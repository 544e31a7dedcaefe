import { assert, describe, it } from "@effect/vitest"
import { htmlPage, modelRefusal } from "@reins/machine/harness/ModelRefusals"

type Given = readonly [status: number | null, names: string, words: string]

/** Refusals as the documentation and public reports of gateways have them, with what they are and whether a later try may succeed. */
const refusals: Readonly<Record<string, ReadonlyArray<Given>>> = {
  "context_exceeded for good": [
    [
      400,
      "invalid_request_error context_length_exceeded",
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 140211 tokens."
    ],
    [400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000 context window"
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    ],
    [413, "request_too_large", "Request exceeds the maximum size"],
    [
      413,
      "tokens rate_limit_exceeded",
      "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000"
    ],
    [413, "", ""],
    [null, "context_length_exceeded", "Your input exceeds the context window of this model."]
  ],
  "quota_exhausted for good": [
    [
      429,
      "insufficient_quota insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details."
    ],
    [402, "", "Insufficient credits. Add more using https://openrouter.ai/credits"],
    [400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."],
    [402, "", "Insufficient Balance"],
    [402, "", ""],
    [403, "billing_not_active", "Your account is not active."]
  ],
  "quota_exhausted for now": [
    [429, "rate_limit_error", "This request would exceed your organization's rate limit."],
    [
      429,
      "tokens rate_limit_exceeded",
      "Rate limit reached for gpt-4o in organization org-x. Please try again in 20s."
    ],
    [429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."],
    [429, "", ""],
    [403, "rate_limit_exceeded", "Too many requests."]
  ],
  "credential_invalid for good": [
    [401, "invalid_request_error invalid_api_key", "Incorrect API key provided: sk-x."],
    [401, "authentication_error", "invalid x-api-key"],
    [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."],
    [401, "", "No auth credentials found"],
    [403, "permission_error", "Your API key does not have permission to use the specified resource."],
    [401, "", ""]
  ],
  "upstream_error for good": [
    [404, "invalid_request_error model_not_found", "The model `gpt-9` does not exist or you do not have access to it."],
    [404, "not_found_error", "model: claude-9"],
    [400, "", "gpt-9 is not a valid model ID"],
    [404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"],
    [404, "DeploymentNotFound", "The API deployment for this resource does not exist."],
    [422, "", "tools.0.function.name: String should match pattern"],
    [403, htmlPage, ""],
    [404, htmlPage, ""]
  ],
  "upstream_error for now": [
    [529, "overloaded_error", "Overloaded"],
    [503, "", "The engine is currently overloaded, please try again later"],
    [500, "server_error", "The server had an error while processing your request"],
    [502, htmlPage, ""],
    [408, "", ""],
    [null, "", "fetch failed"]
  ],
  "answer_withheld for good": [
    [400, "content_filter ResponsibleAIPolicyViolation", "The response was filtered."],
    [400, "invalid_request_error content_policy_violation", "Your request was rejected."],
    [400, "", "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."],
    [400, "content_filter", ""],
    [400, "", "Output blocked by content filter"]
  ]
}

for (const [what, given] of Object.entries(refusals))
  describe(`a refusal is ${what}`, () => {
    for (const [status, names, words] of given)
      it(`with ${status}, ${names || "no name"}, ${words || "no words"}`, () => {
        const { advice, passes, reason } = modelRefusal({ status, names, words })
        assert.strictEqual(`${reason} for ${passes ? "now" : "good"}`, what)
        assert.match(advice, /^[A-Z].*\.$/)
      })
  })

it("a server that fails may write anything, and its status counts", () => {
  for (const words of ["maximum context length", "invalid api key", "insufficient credits"])
    assert.deepInclude(modelRefusal({ status: 503, names: "", words }), { reason: "upstream_error", passes: true })
})
