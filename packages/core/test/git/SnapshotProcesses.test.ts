import { execFileSync } from "node:child_process"
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { assert, it } from "@effect/vitest"
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
          /(?:ls-files|diff-files|diff-index|fast-import|update-index|diff-tree|read-tree|cat-file|update-ref)\b/.exec(
            line
          )?.[0] ?? line
      )
      .sort()
  }
})

const project = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index % 7}/f${index}.txt`, `file ${index}\n`]))

/** The git commands of a snapshot of a project with this number of files, after this number of them were changed. */
const commandsOf = (files: number, changed: number) =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* cloned(project(files))
    const request = { gitDir, workTree, base }
    yield* git.snapshot(request)
    for (let index = 0; index < changed; index += 1)
      appendFileSync(join(workTree, `d${index % 7}/f${index}.txt`), "x\n")
    const taken = yield* commandsOfGit
    const snapshot = yield* git.snapshot(request)
    assert.strictEqual(snapshot.fileCount, changed)
    yield* git.subject({ gitDir, base, tree: snapshot.tree, changes: snapshot.changes })
    yield* git.keep({ gitDir, ref: "changesets/cs_1", commit: snapshot.commit })
    return taken()
  }).pipe(Effect.scoped)

const looking = ["diff-files", "diff-index", "ls-files"]

it.scopedLive("a capture starts as many processes for many files as for few, and the fewest when nothing changed", () =>
  Effect.gen(function* () {
    const few = yield* commandsOf(10, 2)
    assert.deepStrictEqual(
      few,
      [...looking, "cat-file", "diff-tree", "fast-import", "update-index", "update-index", "update-ref"].sort()
    )
    assert.deepStrictEqual(yield* commandsOf(300, 120), few)
    assert.deepStrictEqual(yield* commandsOf(300, 0), [...looking, "fast-import", "update-ref"].sort())
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
