import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { share } from "@reins/testing/Volume"
import { assert, describe, it } from "vitest"
import { mainOf, modulesOf, onEachNode, own, run } from "./OnNodes.js"

/** The ways in which an embedding program ends, with its status and signal. Most are tried on the Node of the tests and on 24, and all in a soak. */
const ends = [
  ["status", 5, null],
  ["worker", 0, null],
  ["end", 0, null],
  ["exit", 7, null],
  ["throw", 1, null],
  ["SIGTERM", null, "SIGTERM"],
  ["SIGINT", null, "SIGINT"]
] as const

describe.each(onEachNode)("on Node $release, installed by $by", (on) => {
  it("no script fails, and nothing is deprecated", () => {
    assert.isFalse(on.failed, on.output)
    assert.notMatch(on.output, /\bdeprecated\b|\berr(or)?\b|prebuild-install|could ?n[o']t be built/i)
  })

  it("a program that embeds the core ends with its own status", async () => {
    const file = join(on.directory, "embed.mjs")
    const program = [
      'import { Embedded, Sessions } from "@reins/core"',
      'import { Effect } from "effect"',
      'import { isMainThread, parentPort, Worker } from "node:worker_threads"',
      "const [, , dataDir, how] = process.argv",
      "const sessions = Effect.gen(function* () {",
      "  const { principal, workspaceId } = yield* Embedded.owner",
      "  yield* (yield* Sessions).list(principal, workspaceId, {})",
      "  if (!isMainThread) return yield* Effect.zipRight(Effect.sync(() => parentPort.postMessage(0)), Effect.never)",
      '  if (how === "exit") process.exit(7)',
      '  if (how.startsWith("SIG")) yield* Effect.zipRight(Effect.sync(() => process.kill(process.pid, how)), Effect.never)',
      "})",
      'if (isMainThread && how === "worker") {',
      "  const worker = new Worker(new URL(import.meta.url), { argv: [dataDir, how] })",
      '  await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject))',
      "  await worker.terminate()",
      "} else await Effect.runPromise(Effect.provide(sessions, Embedded.layer({ dataDir })))",
      'if (how === "throw") throw new Error("its own")',
      'process.exitCode = how === "status" ? 5 : 0'
    ]
    writeFileSync(file, program.join("\n"))
    const isWhole = on.node === own.node || (on.by === "npm" && on.release === "24")
    for (const [how, ...end] of share(isWhole ? ends : ends.slice(0, 2), ends)) {
      const ended = await run(on.node, [file, join(on.directory, `data-${how}`), how])
      assert.deepStrictEqual([ended.status, ended.signal], end, `${how}: ${ended.stderr}`)
    }
  })

  it("there is a command line", async () => {
    const { version } = JSON.parse(readFileSync(join(modulesOf(on), "@reins/server/package.json"), "utf8"))
    const said = await run(on.node, [mainOf(on), "--version"])
    assert.deepStrictEqual([said.status, said.stdout, said.stderr], [0, `${version}\n`, ""])
    const refused = await run(on.node, [mainOf(on), "nonsense"])
    assert.deepStrictEqual([refused.status, refused.signal], [1, null], refused.stderr)
  })
})
