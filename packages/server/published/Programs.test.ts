import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { published } from "./Published.js"

const run = promisify(execFile)
const { programs } = published().installed
const { directory } = programs

let server: Server
let url: string

beforeAll(async () => {
  server = createServer((_request, response) =>
    response.writeHead(404, { "content-type": "application/json" }).end(
      JSON.stringify({
        error: {
          code: "not_found",
          category: "state",
          message: "There is none.",
          retryable: false,
          details: {},
          request_id: "r"
        }
      })
    )
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  url = typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : ""
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const calls = `
const ask = () => new Reins({ baseUrl: process.env.REINS_URL ?? "" }).sessions.get({ session_id: "s" }).then(
  () => "answered",
  (error: unknown) => (error instanceof ReinsApiError ? error.code : String(error))
)`

const inJavaScript = calls.replace(": unknown", "")
const asModule = 'import { Reins, ReinsApiError } from "@reins/client"'
const asCommonJs = 'const { Reins, ReinsApiError } = require("@reins/client")'

const write = (name: string, ...lines: ReadonlyArray<string>): string => {
  writeFileSync(join(directory, name), `${lines.join("\n")}\n`)
  return name
}

/** Runs a program of the project, and gives what it has printed. */
const told = async (program: string, ...args: ReadonlyArray<string>) => {
  const command = program === "node" ? process.execPath : join(directory, "node_modules/.bin", program)
  const { stderr, stdout } = await run(command, args, { cwd: directory, env: { ...process.env, REINS_URL: url } })
  return { all: stdout + stderr, stdout: stdout.trim() }
}

const printing = "ask().then((code) => console.log(code))"

describe("a program with the client", () => {
  it("is installed", () => assert.isFalse(programs.failed, programs.output))

  it("runs as CommonJS and as a module", async () => {
    const common = write("common.cjs", asCommonJs, inJavaScript, printing)
    assert.strictEqual((await told("node", common)).stdout, "not_found")
    const module = write("module.mjs", asModule, inJavaScript, printing)
    assert.strictEqual((await told("node", module)).stdout, "not_found")
  })

  it("is tested in Jest, which loads CommonJS", async () => {
    write("client.test.js", asCommonJs, inJavaScript, `test("asks", async () => expect(await ask()).toBe("not_found"))`)
    assert.include((await told("jest", "--ci", "--rootDir", directory, "client.test.js")).all, "1 passed")
  })

  it("runs in tsx and in ts-node", async () => {
    const program = write("program.ts", asModule, calls, printing)
    assert.strictEqual((await told("tsx", program)).stdout, "not_found")
    write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { module: "node16", moduleResolution: "node16", strict: true } })
    )
    assert.strictEqual((await told("ts-node", program)).stdout, "not_found")
  })

  it.each(["esbuild", "webpack", "vite"])("is bundled by %s", async (bundler) => {
    const entry = write(`${bundler}-entry.js`, asModule, inJavaScript, printing)
    const out = `${bundler}-out`
    if (bundler === "esbuild")
      await told("esbuild", entry, "--bundle", "--platform=node", "--format=cjs", `--outfile=${out}/main.cjs`)
    if (bundler === "webpack") {
      const config = `module.exports = { mode: "production", target: "node", entry: "./${entry}", output: { path: __dirname + "/${out}", filename: "main.cjs" } }`
      const made = write(
        "bundle-webpack.cjs",
        `require("webpack")(${config.slice(config.indexOf("{"))}, (error, stats) => {
  if (error !== null || stats.hasErrors()) throw error ?? new Error(stats.toString())
})`
      )
      await told("node", made)
    }
    if (bundler === "vite") {
      const config = `{ root: ${JSON.stringify(directory)}, configFile: false, logLevel: "error", build: { outDir: "${out}", lib: { entry: "${entry}", formats: ["cjs"], fileName: () => "main.cjs" } } }`
      const made = write("bundle-vite.mjs", 'import { build } from "vite"', `await build(${config})`)
      await told("node", made)
    }
    assert.include(readFileSync(join(directory, out, "main.cjs"), "utf8"), "idempotency-key")
    assert.strictEqual((await told("node", join(out, "main.cjs"))).stdout, "not_found")
  })
})
