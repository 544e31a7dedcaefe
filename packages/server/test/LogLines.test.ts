import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { jsonLines, writeLine } from "@reins/server/LogLines"
import { Cause, Deferred, Effect, FiberRefs, HashMap, List, Logger, LogLevel } from "effect"
import { build } from "esbuild"

const logs = Logger.replace(Logger.defaultLogger, jsonLines)

/** Keeps everything that this process writes to its standard error from now on, and the moment of the first write. */
const capture = Effect.gen(function* () {
  const first = yield* Deferred.make<void>()
  const writes: Array<string> = []
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const { write } = process.stderr
      process.stderr.write = (text) => {
        writes.push(String(text))
        Deferred.unsafeDone(first, Effect.void)
        return true
      }
      return write
    }),
    (write) =>
      Effect.sync(() => {
        process.stderr.write = write
      })
  )
  return { writes, first: Deferred.await(first) }
})

const messagesOf = (text: string): ReadonlyArray<unknown> =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).message)

describe("lines of the log", () => {
  it.scopedLive("of one moment share a write, in their order", () =>
    Effect.gen(function* () {
      const { first, writes } = yield* capture
      const numbers = Array.from({ length: 100 }, (_, index) => `line ${index}`)
      yield* Effect.forEach(numbers, (text) => Effect.logInfo(text), { discard: true })
      assert.deepStrictEqual(writes, [])
      yield* first
      assert.strictEqual(writes.length, 1)
      assert.deepStrictEqual(messagesOf(writes.join("")), numbers)
    }).pipe(Effect.provide(logs))
  )

  it.scopedLive("that are many are not kept back", () =>
    Effect.gen(function* () {
      const { writes } = yield* capture
      yield* Effect.logInfo("x".repeat(70_000))
      assert.strictEqual(writes.length, 1)
    }).pipe(Effect.provide(logs))
  )

  it.scopedLive("are the same for plain values as by the ways of a logger", () =>
    Effect.gen(function* () {
      const { first, writes } = yield* capture
      const annotations = { path: '/api/"quoted"/\u2028', status: 201, principal: null }
      const line = { logLevel: LogLevel.Warning, date: new Date(), fiberId: yield* Effect.fiberId }
      writeLine({ ...line, message: "request", annotations })
      jsonLines.log({
        ...line,
        message: ["request"],
        annotations: HashMap.fromIterable(Object.entries(annotations)),
        cause: Cause.empty,
        context: FiberRefs.empty(),
        spans: List.empty()
      })
      yield* first
      const [plain, logged] = writes
        .join("")
        .trim()
        .split("\n")
        .map((text) => JSON.parse(text))
      assert.deepStrictEqual(plain, logged)
      assert.deepInclude(plain, { message: "request", annotations })
    })
  )

  it("are all written when the process ends, also at once and with a status", async () => {
    const program = `
      import { Effect, Logger } from "effect"
      import { jsonLines } from "@reins/server/LogLines"
      const lines = Effect.zipRight(Effect.logInfo("one"), Effect.logWarning("two"))
      Effect.runSync(Effect.provide(lines, Logger.replace(Logger.defaultLogger, jsonLines)))
      process.exit(3)`
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
    assert.strictEqual(status, 3)
    assert.deepStrictEqual(messagesOf(stderr), ["one", "two"])
  })
})
