import * as fs from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Files } from "@reins/machine/files/Files"
import { namedState } from "@reins/machine/files/OnlyName"
import { clonedOnce, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { raceSeconds, raceTimeout } from "@reins/testing/Volume"
import { Effect, Either, Fiber, Layer } from "effect"

const start = { "a.txt": "one\n", ".gitignore": "build\n" }

const withFiles = Layer.merge(gitLayer, Files.layer)

const link = (root: string, from: string, to: string): void => {
  put(root, `${to}.folder`, "")
  fs.rmSync(join(root, `${to}.folder`))
  fs.linkSync(join(root, from), join(root, to))
}

describe("a file with a second name", () => {
  it.scopedLive("inside the workspace, also in an ignored folder, is captured and read like any other", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* clonedOnce(start)
      const files = yield* Files
      put(workTree, "src/made.txt", "made\n")
      link(workTree, "src/made.txt", "build/deep/er/made.txt")
      link(workTree, "src/made.txt", "copy.txt")
      link(workTree, "a.txt", ".git/kept-by-the-agent")
      put(workTree, "a.txt", "two\n")
      const { diagnostics, files: changed, tree } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(
        changed.map(({ path }) => path),
        ["a.txt", "copy.txt", "src/made.txt"]
      )
      assert.deepStrictEqual(diagnostics, [])
      const blob = yield* git.readBlob({ gitDir, tree, path: "copy.txt", maxBytes: 100 })
      assert.strictEqual(Buffer.from(blob.bytes).toString(), "made\n")
      for (const path of ["src/made.txt", "build/deep/er/made.txt", "copy.txt"])
        assert.strictEqual((yield* files.read(workTree, path)).content, "made\n")
      assert.strictEqual((yield* files.read(workTree, "a.txt")).content, "two\n")
    }).pipe(Effect.provide(withFiles))
  )

  it.scopedLive("outside is neither captured nor read, what the base holds there stays, and the snapshot says so", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* clonedOnce(start)
      const files = yield* Files
      put(root, "outside/secret", "SECRET\n")
      for (const name of ["new.txt", "a.txt", "twice.txt"]) {
        fs.rmSync(join(workTree, name), { force: true })
        fs.linkSync(join(root, "outside/secret"), join(workTree, name))
      }
      const { diagnostics, files: changed, tree } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(changed, [])
      assert.strictEqual(tree, plainGit("/", `--git-dir=${gitDir}`, "rev-parse", `${base}^{tree}`))
      assert.deepStrictEqual(
        diagnostics,
        ["a.txt", "new.txt", "twice.txt"].map(
          (name) => `"${name}" was left out: it is a hard link to a file outside the workspace. Copy the file instead`
        )
      )
      for (const path of ["new.txt", "a.txt"]) {
        assert.deepInclude(yield* Effect.flip(files.read(workTree, path)), { _tag: "PathRefused", reason: "hard_link" })
        const guess = files.write(workTree, path, new Uint8Array(), { expectedDigest: "sha256:0" })
        assert.deepInclude(yield* Effect.flip(guess), { _tag: "PathRefused", reason: "hard_link" })
      }
    }).pipe(Effect.provide(withFiles))
  )

  it.scopedLive("that leaves the workspace after a capture is left out of the next", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* clonedOnce(start)
      put(workTree, "b.txt", "b\n")
      link(workTree, "b.txt", "c.txt")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).fileCount, 2)
      fs.renameSync(join(workTree, "c.txt"), join(root, "c.txt"))
      const { diagnostics, files } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(files, [])
      assert.match(diagnostics.join(), /"b.txt" was left out: it is a hard link/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive(
    "outside is never read while the one inside wanders from folder to folder",
    () =>
      Effect.gen(function* () {
        const { root, workTree } = yield* clonedOnce(start)
        const files = yield* Files
        put(root, "outside/secret", "SECRET\n")
        for (const folder of ["d1", "d2", "d3", "d4"]) put(workTree, `${folder}/x`, "")
        fs.linkSync(join(root, "outside/secret"), join(workTree, "d1/link"))
        const worker = yield* Effect.acquireRelease(
          Effect.sync(() => new Worker(wanderer, { eval: true, workerData: { workTree } })),
          (running) => Effect.promise(() => running.terminate())
        )
        yield* Effect.async<void>((resume) => void worker.once("message", () => resume(Effect.void)))
        const until = Date.now() + raceSeconds * 1000
        let refused = 0
        while (Date.now() < until || refused < 4) {
          for (const folder of ["d1", "d2", "d3", "d4"]) {
            const read = yield* Effect.either(files.read(workTree, `${folder}/link`))
            if (Either.isRight(read)) assert.fail(read.right.content)
            if (read.left._tag === "PathRefused") refused += 1
          }
        }
      }).pipe(Effect.provide(withFiles)),
    raceTimeout
  )
})

describe("a file that loses its name while it is opened", () => {
  it.scopedLive(
    "is never read when its other name is outside",
    () =>
      Effect.gen(function* () {
        const { root, workTree } = yield* clonedOnce(start)
        const files = yield* Files
        put(root, "outside/secret", "SECRET\n")
        const names = { from: join(root, "outside/secret"), to: join(workTree, "link") }
        const worker = yield* Effect.acquireRelease(
          Effect.sync(() => new Worker(blinker, { eval: true, workerData: names })),
          (running) => Effect.promise(() => running.terminate())
        )
        yield* Effect.async<void>((resume) => void worker.once("message", () => resume(Effect.void)))
        const until = Date.now() + raceSeconds * 1000
        const seen = new Map<string, number>()
        const few = (why: string) => (seen.get(why) ?? 0) < 10
        while (Date.now() < until || few("hard_link") || few("FileNotFound")) {
          const read = yield* Effect.either(files.read(workTree, "link"))
          if (Either.isRight(read)) return assert.fail(read.right.content)
          const why = read.left._tag === "PathRefused" ? read.left.reason : read.left._tag
          seen.set(why, (seen.get(why) ?? 0) + 1)
        }
      }).pipe(Effect.provide(withFiles)),
    raceTimeout
  )

  it.scopedLive("is held to its one name by the state of both", () =>
    Effect.gen(function* () {
      const { workTree } = yield* clonedOnce(start)
      const path = join(workTree, "a.txt")
      put(workTree, "other.txt", "other\n")
      const handle = yield* Effect.acquireRelease(
        Effect.promise(() => open(path)),
        (opened) => Effect.promise(() => opened.close())
      )
      const state = Effect.promise(() => namedState(handle, path))
      assert.strictEqual((yield* state)?.nlink, 1n)
      fs.linkSync(path, join(workTree, "second.txt"))
      assert.strictEqual((yield* state)?.nlink, 2n)
      fs.rmSync(join(workTree, "second.txt"))
      assert.strictEqual((yield* state)?.nlink, 1n)
      fs.renameSync(path, join(workTree, "third.txt"))
      assert.isUndefined(yield* state)
      fs.renameSync(join(workTree, "other.txt"), path)
      assert.isUndefined(yield* state)
      fs.rmSync(join(workTree, "third.txt"))
      assert.strictEqual((yield* state)?.nlink, 0n)
    }).pipe(Effect.provide(withFiles))
  )

  it.scopedLive("because it is replaced all the time is read as one of the files that had the name", () =>
    Effect.gen(function* () {
      const { workTree } = yield* clonedOnce(start)
      const files = yield* Files
      const rounds = Array.from({ length: 40 }, (_, at) => `${at}\n`)
      const write = Effect.forEach(rounds, (text) => files.write(workTree, "a.txt", Buffer.from(text)), {
        discard: true
      })
      const writing = yield* Effect.fork(write)
      for (let count = 0; count < 10; count++)
        assert.include(["one\n", ...rounds], (yield* files.read(workTree, "a.txt")).content)
      yield* Fiber.join(writing)
    }).pipe(Effect.provide(withFiles))
  )
})

/** Gives the secret a name and takes it back, again and again. */
const blinker = `
const fs = require("node:fs")
const { parentPort, workerData: { from, to } } = require("node:worker_threads")
parentPort.postMessage("started")
for (;;) {
  fs.linkSync(from, to)
  fs.unlinkSync(to)
}
`

const wanderer = `
const fs = require("node:fs")
const { parentPort, workerData: { workTree } } = require("node:worker_threads")
parentPort.postMessage("started")
for (let at = 0; ; at = (at + 1) % 4) fs.renameSync(workTree + "/d" + (at + 1) + "/link", workTree + "/d" + ((at + 1) % 4 + 1) + "/link")
`
