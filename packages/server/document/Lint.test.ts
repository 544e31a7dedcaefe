import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { documentFile, run, runProgram } from "./Tools.js"

const spectral = fileURLToPath(new URL("spectral.mjs", import.meta.url))

describe("the OpenAPI document", () => {
  it("keeps every rule of spectral:oas", async () => {
    const { output, status } = await runProgram(process.execPath, [spectral, documentFile])
    assert.deepStrictEqual({ output, status }, { output: "[]", status: 0 })
  })

  it("keeps the recommended rules of Redocly", async () => {
    const { output, status } = await run("redocly", ["lint", documentFile, "--extends", "recommended"])
    assert.strictEqual(status, 0, output)
    assert.match(output, /Your API description is valid/)
    assert.notMatch(output, /You have \d+ warning/, output)
  })
})
