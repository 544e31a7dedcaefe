import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core"
import parsers from "@stoplight/spectral-parsers"
import rulesets from "@stoplight/spectral-rulesets"
import { documentFile, run } from "./Tools.js"

// Its own types are narrower than the definition that the linter takes.
const oas = rulesets.oas as RulesetDefinition

describe("the OpenAPI document", () => {
  it("keeps every rule of spectral:oas", async () => {
    const linter = new spectral.Spectral()
    // Whom to ask is another person at each installation: there is no address to give.
    linter.setRuleset({ extends: [[oas, "all"]], rules: { "contact-properties": "off" } })
    const found = await linter.run(
      new spectral.Document(readFileSync(documentFile, "utf8"), parsers.Json, "openapi.json")
    )
    assert.deepStrictEqual(
      found.map(({ code, message, path }) => `${path.join("/")} ${code}: ${message}`),
      []
    )
  })

  it("keeps the recommended rules of Redocly", () => {
    const { output, status } = run("redocly", ["lint", documentFile, "--extends", "recommended"])
    assert.strictEqual(status, 0, output)
    assert.match(output, /Your API description is valid/)
    assert.notMatch(output, /You have \d+ warning/, output)
  })
})
