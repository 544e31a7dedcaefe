import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  editedIndex,
  emptyIndex,
  hasEntriesOf,
  indexDifferences,
  indexEntries,
  indexEntry,
  isSorted,
  readIndex
} from "@reins/machine/capture/index/IndexFile"
import { plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { Effect } from "effect"
import fc from "fast-check"

const never = 4_000_000_000n * 1_000_000_000n

const idOf = (digit: number) => String(digit).repeat(40)

/** Lists the entries that git reads in an index file. */
const listed = (repository: string, file: string): ReadonlyArray<string> =>
  execFileSync("git", ["-C", repository, "ls-files", "--stage", "-z"], {
    encoding: "latin1",
    env: { PATH: process.env["PATH"], GIT_INDEX_FILE: file }
  })
    .split("\0")
    .filter((line) => line !== "")

const repositoryIn = (root: string): string => {
  const repository = join(root, "repository")
  plainGit(root, "init", "--quiet", repository)
  return repository
}

const files = fc.uniqueArray(
  fc.record({
    path: fc.stringMatching(/^[a-c\xe9]{1,3}(\/[a-z.]{1,9}x){0,2}$/),
    digit: fc.integer({ min: 1, max: 3 }),
    mode: fc.constantFrom("100644", "100755", "120000", "160000")
  }),
  { selector: ({ path }) => path, maxLength: 12 }
)

const edit = (of: ReadonlyArray<{ readonly path: string; readonly digit: number; readonly mode: string }>) =>
  new Map(of.map(({ digit, mode, path }) => [path, { file: { mode, id: idOf(digit) }, stat: undefined }]))

describe("IndexFile", () => {
  it.scopedLive("git reads what was written, and what git writes is read", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const repository = repositoryIn(root)
      const file = join(root, "index")
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(files, files, async (before, after) => {
            const first = await editedIndex(emptyIndex, edit(before), never)
            const one = await readIndex(first)
            if (one === null) return assert.fail("not an index")
            const gone = before.filter(({ path }) => !after.some((other) => other.path === path))
            const edits = new Map([...gone.map(({ path }) => [path, null] as const), ...edit(after)])
            fs.writeFileSync(file, await editedIndex(one, edits, never))
            const expected = after.map(({ digit, mode, path }) => `${mode} ${idOf(digit)} 0\t${path}`)
            assert.sameMembers([...listed(repository, file)], expected)
            const other = await readIndex(fs.readFileSync(file))
            if (other === null) return assert.fail("not an index")
            assert.isTrue(await isSorted(other))
            assert.deepStrictEqual(
              await indexEntries(other),
              new Map(
                [...edit(after)]
                  .sort(([left], [right]) => (left < right ? -1 : 1))
                  .map(([path, { file }]) => [path, file])
              )
            )
            const differing = await indexDifferences(one, other)
            const [lefts, rights] = [edit(before), edit(after)]
            for (const { left, path, right } of differing)
              assert.deepStrictEqual([left, right], [lefts.get(path)?.file, rights.get(path)?.file])
            const same = after.filter(({ digit, mode, path }) => {
              const was = lefts.get(path)?.file
              return was?.mode === mode && was.id === idOf(digit)
            })
            const paths = new Set([...before, ...after].map(({ path }) => path))
            assert.strictEqual(differing.length, paths.size - same.length)
            assert.strictEqual(await hasEntriesOf(one, other), differing.length === 0)
          }),
          { numRuns: 40 }
        )
      )
    })
  )

  it.scopedLive("an index that is cut off or has another form is not read", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const repository = repositoryIn(root)
      for (let number = 0; number < 5; number += 1) put(repository, `dir/${number}.txt`, `${number}\n`)
      plainGit(repository, "add", "--all")
      const file = join(repository, ".git/index")
      const bytes = fs.readFileSync(file)
      const whole = yield* Effect.promise(() => readIndex(bytes))
      assert.deepStrictEqual(whole && indexEntry(whole, "dir/3.txt")?.isHidden, false)
      for (let length = 0; length < bytes.length; length += 1)
        assert.isNull(yield* Effect.promise(() => readIndex(bytes.subarray(0, length))), `${length} bytes`)
      for (const form of [["--index-version=4"], ["--split-index"]]) {
        plainGit(repository, "update-index", ...form)
        assert.isNull(yield* Effect.promise(() => readIndex(fs.readFileSync(file))), form.join())
      }
    })
  )

  it.scopedLive("flags of the agent's git are known, and a conflict is no entry of a base", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const repository = repositoryIn(root)
      for (const name of ["plain", "skipped", "assumed"]) put(repository, name, `${name}\n`)
      plainGit(repository, "add", "--all")
      const read = () => readIndex(fs.readFileSync(join(repository, ".git/index")))
      const before = yield* Effect.promise(read)
      plainGit(repository, "update-index", "--skip-worktree", "skipped")
      plainGit(repository, "update-index", "--assume-unchanged", "assumed")
      const after = yield* Effect.promise(read)
      if (before === null || after === null) return assert.fail("not an index")
      const hidden = ["plain", "skipped", "assumed", "none"].map((name) => indexEntry(after, name)?.isHidden)
      assert.deepStrictEqual(hidden, [false, true, true, undefined])
      assert.isFalse(yield* Effect.promise(() => hasEntriesOf(after, before)))
      assert.isTrue(yield* Effect.promise(() => hasEntriesOf(before, before)))
    })
  )

  it.scopedLive("git takes a file as unchanged by the state that was written, and no file whose time is too late", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const repository = repositoryIn(root)
      put(repository, "a.txt", "a\n")
      const id = plainGit(repository, "hash-object", "-w", "a.txt")
      const stat = fs.lstatSync(join(repository, "a.txt"), { bigint: true })
      const file = join(repository, ".git/index")
      const differing = async (since: bigint) => {
        const index = await editedIndex(emptyIndex, new Map([["a.txt", { file: { mode: "100644", id }, stat }]]), never)
        const read = await readIndex(index)
        if (read === null) return assert.fail("not an index")
        fs.writeFileSync(file, await editedIndex(read, new Map(), since))
        return plainGit(repository, "diff-files", "--name-only")
      }
      assert.strictEqual(yield* Effect.promise(() => differing(never)), "")
      assert.strictEqual(yield* Effect.promise(() => differing(stat.mtimeNs)), "a.txt")
    })
  )
})
