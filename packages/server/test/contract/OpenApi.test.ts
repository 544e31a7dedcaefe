import { readFileSync, writeFileSync } from "node:fs"
import { assert, describe, it, layer } from "@effect/vitest"
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core"
import parsers from "@stoplight/spectral-parsers"
import rulesets from "@stoplight/spectral-rulesets"
import { Effect } from "effect"
import { send, service } from "../Service.js"
import { builtInDocument } from "./BuiltIn.js"

// Its own types are narrower than the definition that the linter takes.
const oas = rulesets.oas as RulesetDefinition

const text = `${JSON.stringify(builtInDocument, null, 2)}\n`

describe("the OpenAPI document", () => {
  it("is the file that is kept beside the server: else run `node scripts/openapi.mjs`", () => {
    const file = new URL("../../openapi.json", import.meta.url)
    if (process.env["REINS_WRITE_OPENAPI"] === "1") writeFileSync(file, text)
    assert.isTrue(readFileSync(file, "utf8") === text)
  })

  it("keeps every rule of spectral:oas", async () => {
    const linter = new spectral.Spectral()
    // Whom to ask is another person at each installation: there is no address to give.
    linter.setRuleset({ extends: [[oas, "all"]], rules: { "contact-properties": "off" } })
    const found = await linter.run(new spectral.Document(text, parsers.Json, "openapi.json"))
    assert.deepStrictEqual(
      found.map(({ code, message, path }) => `${path.join("/")} ${code}: ${message}`),
      []
    )
  })
})

layer(service(), { excludeTestServices: true })("the page of the document", (it) => {
  it.effect("loads nothing from anywhere else", () =>
    Effect.gen(function* () {
      const { headers, text: page } = yield* send("GET", "/docs")
      const markup = page.replaceAll(/<script[^>]*>[\s\S]*?<\/script>|<style[^>]*>[\s\S]*?<\/style>/g, "")
      assert.notMatch(page, /<script[^>]+src\s*=/i)
      assert.notMatch(
        markup,
        /<(?:link|img|iframe|object|embed|source|video|audio|base)\b[^>]*(?:href|src|data)\s*=\s*["']?(?!data:|#)/i
      )
      assert.notMatch(page, /@import\s|url\(\s*["']?(?:https?:)?\/\//i)
      const policy = headers.get("content-security-policy") ?? ""
      for (const directive of ["default-src 'none'", "connect-src 'self'", "img-src 'self' data:"])
        assert.include(policy, directive)
      assert.notMatch(policy, /https?:|\*/)
    })
  )
})
