import { spawnSync } from "node:child_process"
import { build } from "esbuild"
import { assert, describe, it } from "vitest"

/** Runs a program that writes lines of the log. Gives back its status and its lines. */
const run = async (program: string) => {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    conditions: ["@reins/source"]
  })
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module"], {
    input: outputFiles[0]?.text ?? "",
    encoding: "utf8"
  })
  const lines = stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  return { status, lines }
}

describe("lines of the log", () => {
  it("are the same for plain values as by the ways of a logger", async () => {
    const { lines } = await run(`
      import { Cause, FiberId, FiberRefs, HashMap, List, LogLevel } from "effect"
      import { jsonLines, writeLine } from "@reins/server/LogLines"
      const annotations = { path: '/api/"quoted"/\\u2028', status: 201, principal: null }
      const line = { logLevel: LogLevel.Warning, date: new Date(), fiberId: FiberId.make(7, 0) }
      writeLine({ ...line, message: "request", annotations })
      jsonLines.log({
        ...line,
        message: ["request"],
        annotations: HashMap.fromIterable(Object.entries(annotations)),
        cause: Cause.empty,
        context: FiberRefs.empty(),
        spans: List.empty()
      })`)
    const [plain, logged, ...others] = lines
    assert.deepStrictEqual(plain, logged)
    assert.isEmpty(others)
    const annotations = { path: '/api/"quoted"/\u2028', status: 201, principal: null }
    assert.deepInclude(plain, { message: "request", annotations })
  })

  it("are all written when the process ends, also at once and with a status", async () => {
    const { lines, status } = await run(`
      import { Effect, Logger } from "effect"
      import { jsonLines } from "@reins/server/LogLines"
      const lines = Effect.zipRight(Effect.logInfo("one"), Effect.logWarning("two"))
      Effect.runSync(Effect.provide(lines, Logger.replace(Logger.defaultLogger, jsonLines)))
      process.exit(3)`)
    assert.strictEqual(status, 3)
    assert.deepStrictEqual(
      lines.map(({ message }) => message),
      ["one", "two"]
    )
  })
})
