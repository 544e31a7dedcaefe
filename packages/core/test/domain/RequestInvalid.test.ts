import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { ParseResult, Schema } from "effect"
import { assert, describe, it } from "vitest"

const at = (issue: ParseResult.ParseIssue, input: unknown) =>
  new RequestInvalid({ loc: ["body", "repository", "url"], issue, input })

describe("a request that is malformed for a service", () => {
  it("tells a program that embeds the core the place and the fault", () => {
    const issue = new ParseResult.Type(Schema.String.ast, "x", "the URL leads into the data directory")
    assert.strictEqual(at(issue, "x").message, "body.repository.url: the URL leads into the data directory")
  })

  it("tells no value that nobody has chosen to tell", () => {
    for (const issue of [
      new ParseResult.Type(Schema.String.ast, "sk-secret"),
      new ParseResult.Unexpected("sk-secret")
    ]) {
      const { message } = at(issue, "sk-secret")
      assert.strictEqual(message, "body.repository.url is not valid.")
    }
  })
})
