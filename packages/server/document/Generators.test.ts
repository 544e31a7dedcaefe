import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { documentFile, run } from "./Tools.js"

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reins-generated-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Type checks what was generated, with a use of it beside it. The tools have two releases of TypeScript, and the generators know the older one.
 */
const compiles = async (file: string, use: string): Promise<void> => {
  writeFileSync(join(folder, `${file}.use.ts`), use)
  const { output, status } = await run("../typescript/bin/tsc", [
    ...["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext"],
    ...["--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable", join(folder, `${file}.use.ts`)]
  ])
  assert.strictEqual(status, 0, output)
}

/** An event is told by its type, and an error by its code. */
const narrows = (event: string): string => `
export const textOf = (event: ${event}): string =>
  event.type === "message.completed" ? event.payload.message.id
    : event.type === "turn.succeeded" ? event.payload.turn.id
    : event.type === "tool.started" ? event.payload.title
    : event.session_id
`

describe("of the document, TypeScript that compiles is made by", () => {
  it("openapi-typescript", async () => {
    const file = join(folder, "openapi-typescript.ts")
    const { output, status } = await run("openapi-typescript", [documentFile, "--output", file])
    assert.strictEqual(status, 0, output)
    await compiles(
      "openapi-typescript",
      `import type { components, paths } from "./openapi-typescript"
type Event = components["schemas"]["Event"]
${narrows("Event")}
type Conflict = paths["/api/sessions/{session_id}/archives"]["post"]["responses"][409]["content"]["application/json"]
export const isActive = ({ error }: Conflict): boolean => error.code === "turn_active"
`
    )
  })

  it("@hey-api/openapi-ts", async () => {
    const { output, status } = await run("openapi-ts", [
      ...["--input", documentFile, "--output", join(folder, "hey-api"), "--client", "@hey-api/client-fetch"]
    ])
    assert.strictEqual(status, 0, output)
    await compiles(
      "hey-api",
      `import type { Event } from "./hey-api/types.gen"\nexport * from "./hey-api/sdk.gen"\n${narrows("Event")}`
    )
  })

  it("orval", async () => {
    const target = join(folder, "orval.ts")
    const { output, status } = await run("orval", ["--input", documentFile, "--output", target, "--client", "fetch"])
    assert.strictEqual(status, 0, output)
    await compiles("orval", `import type { Event } from "./orval"\nexport * from "./orval"\n${narrows("Event")}`)
  })
})
