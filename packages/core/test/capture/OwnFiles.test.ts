import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { cloned, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

const tool = { folder: ".tool", package: "@tool/plugin" }

const places = { settings: ["tool.json", ".tool/"], packages: [tool] }

const start = {
  "a.txt": "one\n",
  "tool.json": '{"rules":["a.txt"]}',
  ".tool/agent/x.md": "hello\n",
  ".tool/.gitignore": "node_modules\n"
}

/** A clone that knows the places of a program, which opens its session with `write`. */
const opened = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* cloned(files)
    const changed = Effect.map(git.snapshot({ gitDir, workTree, base }), ({ files }) =>
      files.map(({ path, status }) => `${path} ${status}`)
    )
    const open = (write: () => void) =>
      Effect.gen(function* () {
        const ends = yield* git.watchOwnFiles({ gitDir, workTree, ...places })
        write()
        yield* ends
      })
    const textOf = (path: string) =>
      Effect.map(git.snapshot({ gitDir, workTree, base }), ({ tree }) =>
        plainGit("/", `--git-dir=${gitDir}`, "cat-file", "blob", `${tree}:${path}`)
      )
    return { base, git, gitDir, workTree, changed, open, textOf }
  })

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const dependency = { "@tool/plugin": "1.0.0" }

/** The files that npm leaves in a folder after it has installed a package there. */
const install = (workTree: string, more: object = {}) => {
  put(workTree, ".tool/package.json", json({ ...more, dependencies: { ...dependency } }))
  put(
    workTree,
    ".tool/package-lock.json",
    json({ packages: { "": { dependencies: dependency }, x: { version: "1" } } })
  )
  put(workTree, ".tool/node_modules/x/index.js", "x")
}

describe("Git.watchOwnFiles", () => {
  it.scopedLive("what a program rewrites, adds and removes while it opens its session is in no snapshot", () =>
    Effect.gen(function* () {
      const { base, changed, git, gitDir, open, workTree } = yield* opened(start)
      yield* open(() => {
        put(workTree, "tool.json", '{\n  "$schema": "https://tool.test/config.json","rules":["a.txt"]}')
        put(workTree, ".tool/settings.json.orig", "{}\n")
        put(workTree, ".tool/deep/er/state.json", "{}\n")
        fs.rmSync(join(workTree, ".tool/agent/x.md"))
        fs.chmodSync(join(workTree, ".tool/.gitignore"), 0o755)
      })
      assert.deepStrictEqual(yield* changed, [])
      const whole = yield* git.snapshot({ gitDir, workTree, base, whole: true })
      assert.strictEqual(whole.files.length, 5)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("an edit of the same file is work, and so is a file elsewhere that was written meanwhile", () =>
    Effect.gen(function* () {
      const { changed, open, textOf, workTree } = yield* opened(start)
      yield* open(() => {
        put(workTree, "tool.json", '{"version":2,"rules":["a.txt"]}')
        put(workTree, "other.txt", "mine\n")
      })
      assert.deepStrictEqual(yield* changed, ["other.txt added"])
      put(workTree, "tool.json", '{"version":2,"rules":[]}')
      assert.deepStrictEqual(yield* changed, ["other.txt added", "tool.json modified"])
      assert.strictEqual(yield* textOf("tool.json"), '{"version":2,"rules":[]}')
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a program that is started anew takes nothing from the work of earlier turns", () =>
    Effect.gen(function* () {
      const { changed, open, textOf, workTree } = yield* opened(start)
      yield* open(() => put(workTree, "tool.json", '{"version":2,"rules":["a.txt"]}'))
      put(workTree, "tool.json", '{"rules":["b.txt"]}')
      put(workTree, ".tool/new.md", "new\n")
      yield* open(() => {
        put(workTree, "tool.json", '{"version":2,"rules":["b.txt"]}')
        fs.rmSync(join(workTree, ".tool/new.md"))
      })
      // The work stands as the program found it.
      assert.strictEqual(yield* textOf("tool.json"), '{"rules":["b.txt"]}')
      yield* open(() => put(workTree, "tool.json", '{"version":3,"rules":["b.txt"]}'))
      assert.strictEqual(yield* textOf("tool.json"), '{"rules":["b.txt"]}')
      assert.include(yield* changed, "tool.json modified")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("the package that a program installs is in no snapshot, whenever it comes", () =>
    Effect.gen(function* () {
      const { ".tool/.gitignore": _, ...bare } = start
      const { changed, open, workTree } = yield* opened(bare)
      yield* open(() => {})
      install(workTree)
      assert.deepStrictEqual(yield* changed, [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a package of the repository's own keeps its dependencies and its lock", () =>
    Effect.gen(function* () {
      const own = { name: "tools", dependencies: { zod: "4.0.0" } }
      const lock = { packages: { "": { dependencies: { zod: "4.0.0" } } } }
      const { changed, open, workTree } = yield* opened({
        ...start,
        ".tool/package.json": json(own),
        ".tool/package-lock.json": json(lock)
      })
      yield* open(() => {})
      const dependencies = { ...dependency, zod: "4.0.0" }
      put(workTree, ".tool/package.json", json({ ...own, dependencies }))
      put(workTree, ".tool/package-lock.json", json({ packages: { "": { dependencies }, x: {} } }))
      assert.deepStrictEqual(yield* changed, [])
      put(workTree, ".tool/package-lock.json", json({ packages: { "": { dependencies: { zod: "4.0.1" } } } }))
      assert.deepStrictEqual(yield* changed, [".tool/package-lock.json modified"])
      put(workTree, ".tool/package.json", json({ ...own, dependencies: { ...dependencies, ky: "1.0.0" } }))
      assert.deepStrictEqual(yield* changed, [".tool/package-lock.json modified", ".tool/package.json modified"])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a folder of settings that is a link out of the workspace is not followed", () =>
    Effect.gen(function* () {
      const { changed, open, workTree } = yield* opened({ "a.txt": "one\n" })
      fs.symlinkSync("/etc", join(workTree, ".tool"))
      yield* open(() => put(workTree, "tool.json", "{}"))
      assert.deepStrictEqual(yield* changed, [".tool added"])
    }).pipe(Effect.provide(gitLayer))
  )
})
