import * as fs from "node:fs"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Files } from "@reins/core/files/Files"
import { cloned, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { Effect, Either, Layer } from "effect"

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
      const { base, git, gitDir, workTree } = yield* cloned(start)
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
      const { base, git, gitDir, root, workTree } = yield* cloned(start)
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
      const { base, git, gitDir, root, workTree } = yield* cloned(start)
      put(workTree, "b.txt", "b\n")
      link(workTree, "b.txt", "c.txt")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).fileCount, 2)
      fs.renameSync(join(workTree, "c.txt"), join(root, "c.txt"))
      const { diagnostics, files } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(files, [])
      assert.match(diagnostics.join(), /"b.txt" was left out: it is a hard link/)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("outside is never read while the one inside wanders from folder to folder", () =>
    Effect.gen(function* () {
      const { root, workTree } = yield* cloned(start)
      const files = yield* Files
      put(root, "outside/secret", "SECRET\n")
      for (const folder of ["d1", "d2", "d3", "d4"]) put(workTree, `${folder}/x`, "")
      fs.linkSync(join(root, "outside/secret"), join(workTree, "d1/link"))
      const worker = yield* Effect.acquireRelease(
        Effect.sync(() => new Worker(wanderer, { eval: true, workerData: { workTree } })),
        (running) => Effect.promise(() => running.terminate())
      )
      yield* Effect.async<void>((resume) => void worker.once("message", () => resume(Effect.void)))
      const until = Date.now() + 3_000
      let refused = 0
      while (Date.now() < until || refused < 4) {
        for (const folder of ["d1", "d2", "d3", "d4"]) {
          const read = yield* Effect.either(files.read(workTree, `${folder}/link`))
          if (Either.isRight(read)) assert.fail(read.right.content)
          if (read.left._tag === "PathRefused") refused += 1
        }
      }
    }).pipe(Effect.provide(withFiles))
  )
})

const wanderer = `
const fs = require("node:fs")
const { parentPort, workerData: { workTree } } = require("node:worker_threads")
parentPort.postMessage("started")
for (let at = 0; ; at = (at + 1) % 4) fs.renameSync(workTree + "/d" + (at + 1) + "/link", workTree + "/d" + ((at + 1) % 4 + 1) + "/link")
`
