import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { published } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { installationForFile } from "./Installation.js"
import { run } from "./Programs.js"

const installation = installationForFile()

/** The way to the tools, as words of the inspector's command line. */
const ways = {
  "/mcp": () => {
    const { caller, url } = installation()
    return [`${url}/mcp`, "--header", `Authorization: Bearer ${caller.apiKey}`]
  },
  "reins mcp": () => {
    const { caller, url } = installation()
    const settings = { REINS_URL: url, REINS_API_KEY: caller.apiKey, PATH: process.env["PATH"] ?? "" }
    return [
      ...Object.entries(settings).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
      ...[process.execPath, published, "mcp"]
    ]
  }
} as const

let count = 0

const inspect = async (way: keyof typeof ways, era: string, ...args: ReadonlyArray<string>) => {
  const directory = join(installation().directory, `inspector-${++count}`)
  mkdirSync(directory)
  const words = ["--cli", ...ways[way](), "--protocol-era", era, "--connect-timeout", "120000"]
  const { status, stderr, stdout } = await run("inspector", [...words, "--format", "json", "--quiet", ...args], {
    directory
  })
  assert.strictEqual(status, 0, `${stdout}${stderr}`)
  return (JSON.parse(stdout) as { readonly result: Record<string, unknown> }).result
}

const agent = { provider_id: "alpha", model: "scripted-1" }

describe.each(["/mcp", "reins mcp"] as const)("the inspector before %s", (way) => {
  for (const era of ["legacy", "modern"])
    it(`lists the tools and calls them in the ${era} era`, async () => {
      // With --strict a schema that some client cannot take is a failure.
      const { tools } = await inspect(way, era, "--method", "tools/list", "--strict")
      assert.lengthOf(tools as ReadonlyArray<unknown>, 11)
      const call = async (name: string, input: object) => {
        const named = ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(input)]
        return (await inspect(way, era, ...named))["structuredContent"] as Record<string, unknown>
      }
      const { session_id } = await call("start_session", { ...agent, message: script("Say.", { say: "Here I am." }) })
      const { client } = installation()
      for await (const { type } of client.sessions.stream({ session_id: String(session_id), after: 0 }))
        if (type === "turn.succeeded") break
      const end = await call("wait", { session_id, seconds: 0 })
      assert.deepInclude(end, { ended: true, said: "Here I am." })
    })
})
