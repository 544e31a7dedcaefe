import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clonedOnce, gitLayer, put } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

const lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
const files = { "a.txt": lines, "b.txt": "b\n", "dir/c.txt": "c\n", ".gitignore": "*.log\n" }

/** A change made in one workspace, and another workspace cloned from the same remote to bring it to. */
const sessions = (change: (workTree: string) => void) =>
  Effect.gen(function* () {
    const from = yield* clonedOnce(files)
    const { base, git } = from
    change(from.workTree)
    const { tree } = yield* git.snapshot({ gitDir: from.gitDir, workTree: from.workTree, base })
    const { gitDir, workTree } = yield* clonedOnce(files)
    const target = { gitDir, workTree, base }
    return { git, source: { gitDir: from.gitDir, base, tree }, target, workTree: target.workTree }
  })

const read = (root: string, path: string) => fs.readFileSync(join(root, path), "utf8")

describe("Git.applyTree", () => {
  it.scopedLive(
    "an untouched target becomes exactly the tree: content, modes, links, removals, folders for files",
    () =>
      Effect.gen(function* () {
        const { git, source, target, workTree } = yield* sessions((work) => {
          put(work, "a.txt", lines.replace("5", "five"))
          put(work, "new/deep/run.sh", "#!/bin/sh\n", 0o755)
          put(work, "image.bin", Buffer.from([0, 255, 1]))
          fs.symlinkSync("a.txt", join(work, "link"))
          fs.rmSync(join(work, "dir"), { recursive: true })
          put(work, "dir", "now a file\n")
          fs.rmSync(join(work, "b.txt"))
        })
        const result = yield* git.applyTree({ source, target, strategy: "exact", dryRun: false })
        assert.deepStrictEqual(result, {
          state: "applied",
          conflicts: [],
          changed: ["a.txt", "b.txt", "dir", "dir/c.txt", "image.bin", "link", "new/deep/run.sh"]
        })
        assert.strictEqual((yield* git.snapshot(target)).tree, source.tree)
        assert.strictEqual(fs.statSync(join(workTree, "new/deep/run.sh")).mode & 0o777, 0o755)
        const again = yield* git.applyTree({ source, target, strategy: "three_way", dryRun: false })
        assert.deepStrictEqual(again, { state: "applied", conflicts: [], changed: [] })
      }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("three_way merges into the target's own changes; exact names what the target has touched", () =>
    Effect.gen(function* () {
      const { git, source, target, workTree } = yield* sessions((work) =>
        put(work, "a.txt", lines.replace("9", "nine"))
      )
      put(workTree, "a.txt", lines.replace("1", "one"))
      put(workTree, "own.txt", "own\n")
      const exact = yield* git.applyTree({ source, target, strategy: "exact", dryRun: false })
      assert.deepStrictEqual(exact, { state: "conflicted", conflicts: ["a.txt"], changed: [] })
      const dry = yield* git.applyTree({ source, target, strategy: "three_way", dryRun: true })
      assert.deepStrictEqual(dry, { state: "applied", conflicts: [], changed: ["a.txt"] })
      assert.strictEqual(read(workTree, "a.txt"), lines.replace("1", "one"))
      yield* git.applyTree({ source, target, strategy: "three_way", dryRun: false })
      assert.strictEqual(read(workTree, "a.txt"), lines.replace("1", "one").replace("9", "nine"))
      assert.strictEqual(read(workTree, "own.txt"), "own\n")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a conflict lists its paths and leaves the target untouched", () =>
    Effect.gen(function* () {
      const { git, source, target, workTree } = yield* sessions((work) => {
        put(work, "a.txt", lines.replace("5", "theirs"))
        put(work, "b.txt", "theirs\n")
        put(work, "fine.txt", "fine\n")
      })
      put(workTree, "a.txt", lines.replace("5", "ours"))
      fs.rmSync(join(workTree, "b.txt"))
      const before = yield* git.snapshot(target)
      const result = yield* git.applyTree({ source, target, strategy: "three_way", dryRun: false })
      assert.deepStrictEqual(result, { state: "conflicted", conflicts: ["a.txt", "b.txt"], changed: [] })
      assert.strictEqual((yield* git.snapshot(target)).tree, before.tree)
      assert.isFalse(fs.existsSync(join(workTree, "fine.txt")))
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("an ignored file, a link or a nested repository in the way is a conflict and is not overwritten", () =>
    Effect.gen(function* () {
      const { git, source, target, workTree } = yield* sessions((work) => {
        put(work, ".gitignore", "\n")
        put(work, "debug.log", "theirs\n")
      })
      put(workTree, "debug.log", "mine\n")
      const result = yield* git.applyTree({ source, target, strategy: "three_way", dryRun: false })
      assert.deepStrictEqual(result, { state: "conflicted", conflicts: ["debug.log"], changed: [] })
      assert.strictEqual(read(workTree, "debug.log"), "mine\n")
      assert.strictEqual(read(workTree, ".gitignore"), "*.log\n")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a target folder that is a link out of the workspace is never written through", () =>
    Effect.gen(function* () {
      const { git, source, target, workTree } = yield* sessions((work) => put(work, "logs/new.txt", "new\n"))
      fs.mkdirSync(join(workTree, "../outside"))
      fs.symlinkSync("../outside", join(workTree, "logs"))
      const result = yield* git.applyTree({ source, target, strategy: "three_way", dryRun: false })
      assert.strictEqual(result.state, "conflicted")
      assert.deepStrictEqual(fs.readdirSync(join(workTree, "../outside")), [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("what is about to be written is told before any of it is, and nothing is written when that fails", () =>
    Effect.gen(function* () {
      const { git, source, target, workTree } = yield* sessions((work) => {
        put(work, "a.txt", "A\n")
        put(work, "new.txt", "new\n")
      })
      const plans: Array<ReadonlyArray<string>> = []
      const planned = (paths: ReadonlyArray<string>) => {
        plans.push(paths)
        return Effect.fail("not now" as const)
      }
      const error = yield* Effect.flip(git.applyTree({ source, target, strategy: "exact", dryRun: false, planned }))
      assert.strictEqual(error, "not now")
      assert.deepStrictEqual(plans, [["a.txt", "new.txt"]])
      assert.strictEqual(read(workTree, "a.txt"), lines)
      assert.isFalse(fs.existsSync(join(workTree, "new.txt")))
    }).pipe(Effect.provide(gitLayer))
  )
})
