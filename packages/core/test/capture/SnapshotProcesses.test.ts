import { execFileSync } from "node:child_process"
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { cloned, gitLayer, temporary } from "@reins/testing/git/Fixture"
import { Effect } from "effect"

/** Makes every git process from now on write down its command. Gives the function that takes the commands so far. */
const commandsOfGit = Effect.gen(function* () {
  const folder = yield* temporary
  const log = join(folder, "log")
  const program = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()
  const wrapper = join(folder, "bin", "git")
  mkdirSync(join(folder, "bin"))
  writeFileSync(wrapper, `#!/bin/sh\nprintf '%s\\n' "$*" >> '${log}'\nexec '${program}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  const path = process.env["PATH"]
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.env["PATH"] = `${join(folder, "bin")}${delimiter}${path}`
    }),
    () =>
      Effect.sync(() => {
        process.env["PATH"] = path
      })
  )
  writeFileSync(log, "")
  return () => {
    const lines = readFileSync(log, "utf8").trim().split("\n")
    writeFileSync(log, "")
    return lines
      .map(
        (line) =>
          /(?:ls-files|diff-files|diff-index|fast-import|update-index|diff-tree|read-tree|cat-file|update-ref|ls-tree)\b/.exec(
            line
          )?.[0] ?? line
      )
      .sort()
  }
})

const project = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index % 7}/f${index}.txt`, `file ${index}\n`]))

/** Captures a working tree as a session does for a changeset. */
const captureOf = (place: { readonly gitDir: string; readonly workTree: string; readonly base: string | null }) =>
  Effect.gen(function* () {
    const git = yield* Git
    const { changes, digests, fileCount, index, tree } = yield* git.snapshot({ ...place, keepAs: "changesets/cs_1" })
    const request = { ...place, tree, changes, digests, index }
    yield* git.subject(request)
    assert.deepStrictEqual(yield* git.leftBehind(request), [])
    assert.deepStrictEqual(yield* git.obstacles(request), [])
    return fileCount
  })

/** The git commands of the captures of a project: the first one, one after changes of so many files, and one after no change. */
const commandsOf = (files: number, changed: number) =>
  Effect.gen(function* () {
    const place = yield* cloned(project(files))
    const taken = yield* commandsOfGit
    assert.strictEqual(yield* captureOf(place), 0)
    const first = taken()
    for (let index = 0; index < changed; index += 1)
      appendFileSync(join(place.workTree, `d${index % 7}/f${index}.txt`), "x\n")
    writeFileSync(join(place.workTree, "new.txt"), "n\n")
    rmSync(join(place.workTree, `d${changed % 7}/f${changed}.txt`))
    assert.strictEqual(yield* captureOf(place), changed + 2)
    const second = taken()
    assert.strictEqual(yield* captureOf(place), changed + 2)
    return { first, second, third: taken() }
  }).pipe(Effect.scoped)

it.scopedLive(
  "a capture starts four processes for few files and for many, and three when nothing differs from the base",
  () =>
    Effect.gen(function* () {
      const all = ["diff-files", "diff-tree", "fast-import", "ls-files"]
      const found = { first: ["diff-files", "fast-import", "ls-files"], second: all, third: all }
      assert.deepStrictEqual(yield* commandsOf(10, 2), found)
      assert.deepStrictEqual(yield* commandsOf(300, 120), found)
    }).pipe(Effect.provide(gitLayer))
)

it.scopedLive("the changes that a snapshot tells are those that git finds between its trees", () =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* cloned({ ...project(20), "link-to-be": "x\n", "gone.txt": "g\n" })
    writeFileSync(join(workTree, "new.txt"), "n\n")
    execFileSync("sh", ["-c", "rm gone.txt link-to-be && ln -s elsewhere link-to-be && chmod +x d1/f1.txt"], {
      cwd: workTree
    })
    const { changes, tree } = yield* git.snapshot({ gitDir, workTree, base })
    assert.deepStrictEqual(
      changes.map(({ letter, path }) => `${letter} ${path}`),
      ["M d1/f1.txt", "D gone.txt", "T link-to-be", "A new.txt"]
    )
    assert.deepStrictEqual(
      yield* git.subject({ gitDir, base, tree, changes }),
      yield* git.subject({ gitDir, base, tree })
    )
  }).pipe(Effect.provide(gitLayer))
)
