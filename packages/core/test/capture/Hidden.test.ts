import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clonedOnce, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { hiddenTrees } from "@reins/testing/Volume"
import { Effect } from "effect"
import * as fc from "fast-check"

// A file that is not in the working tree because the agent's git hides it was not deleted.

const start = {
  "README.md": "r\n",
  "docs/a.md": "a\n",
  "docs/deep/b.md": "b\n",
  "lib/c.js": "c\n",
  "src/d.js": "d\n",
  "名前/é.txt": "e\n"
}

type Do = (at: string, git: (...args: ReadonlyArray<string>) => string) => void

/** The changes that captures see after an agent has worked in a clone, once after each work. */
const seenAfter = (...works: ReadonlyArray<Do>) =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* clonedOnce(start)
    const seen = []
    for (const work of works) {
      work(workTree, (...args) => plainGit(workTree, ...args))
      const { changes, hidden } = yield* git.snapshot({ gitDir, workTree, base })
      seen.push({
        changes: changes.map(({ letter, path }) => `${letter} ${Buffer.from(path, "latin1").toString()}`),
        hidden
      })
    }
    return { seen }
  }).pipe(Effect.scoped, Effect.provide(gitLayer))

const edited: Do = (at) => put(at, "src/d.js", "edited\n")
const onlyTheEdit = { changes: ["M src/d.js"], hidden: [] }

/** The first four are rows of `npm test`: an index of each kind, and both marks of git for files that it shall not look for. */
const narrowings: ReadonlyArray<readonly [what: string, narrow: Do]> = [
  ["a sparse index", (_, git) => git("sparse-checkout", "set", "--cone", "--sparse-index", "src")],
  [
    "skip-worktree, and the file removed",
    (at, git) => {
      git("update-index", "--skip-worktree", "docs/a.md", "名前/é.txt")
      fs.rmSync(join(at, "docs/a.md"))
      fs.rmSync(join(at, "名前"), { recursive: true })
    }
  ],
  [
    "assume-unchanged, and the file removed",
    (at, git) => {
      git("update-index", "--assume-unchanged", "docs/a.md")
      fs.rmSync(join(at, "docs/a.md"))
    }
  ],
  [
    "a split index",
    (_, git) => {
      git("sparse-checkout", "set", "--cone", "src")
      git("update-index", "--split-index")
    }
  ],
  ["a sparse checkout in cone mode", (_, git) => git("sparse-checkout", "set", "--cone", "src")],
  ["a sparse checkout by patterns", (_, git) => git("sparse-checkout", "set", "--no-cone", "/src/*")],
  [
    "a split index that was made before",
    (_, git) => {
      git("update-index", "--split-index")
      git("sparse-checkout", "set", "--cone", "src")
    }
  ],
  [
    "an index of version 4, with an untracked cache",
    (_, git) => {
      git("sparse-checkout", "set", "--cone", "src")
      git("update-index", "--index-version=4")
      git("update-index", "--force-untracked-cache")
    }
  ],
  [
    "a monitor of the file system",
    (_, git) => {
      git("sparse-checkout", "set", "--cone", "src")
      git("config", "core.fsmonitor", "/bin/true")
    }
  ],
  [
    "intents to add",
    (at, git) => {
      put(at, "gone.txt", "")
      git("add", "--intent-to-add", "gone.txt")
      fs.rmSync(join(at, "gone.txt"))
      git("sparse-checkout", "set", "--cone", "src")
    }
  ]
]

describe("what git hides is not deleted", () => {
  const staysAfter = ([what, narrow]: (typeof narrowings)[number]) =>
    it.live(`after ${what}`, () =>
      Effect.gen(function* () {
        const both: Do = (...given) => {
          narrow(...given)
          edited(...given)
        }
        const { seen } = yield* seenAfter(both, () => {})
        assert.deepStrictEqual(seen, [onlyTheEdit, onlyTheEdit])
      })
    )
  narrowings.slice(0, 4).forEach(staysAfter)
  variants(() => narrowings.slice(4).forEach(staysAfter))

  it.live("while files that are removed in truth are deleted, beside hidden ones and after them", () =>
    Effect.gen(function* () {
      const { seen } = yield* seenAfter(
        (at, git) => {
          git("sparse-checkout", "set", "--cone", "src")
          fs.rmSync(join(at, "README.md"))
        },
        (at, git) => {
          git("sparse-checkout", "disable")
          fs.rmSync(join(at, "README.md"), { force: true })
          fs.rmSync(join(at, "docs/a.md"))
        },
        (_, git) => git("rm", "--quiet", "lib/c.js")
      )
      assert.deepStrictEqual(
        seen.map(({ changes }) => changes),
        [["D README.md"], ["D README.md", "D docs/a.md"], ["D README.md", "D docs/a.md", "D lib/c.js"]]
      )
    })
  )

  it.live("what a capture has read of a file stays when the file is hidden afterwards", () =>
    Effect.gen(function* () {
      const { seen } = yield* seenAfter(
        (at, git) => {
          put(at, "docs/a.md", "edited\n")
          git("commit", "--quiet", "--all", "--message=docs")
        },
        (_, git) => git("sparse-checkout", "set", "--cone", "src")
      )
      const expected = { changes: ["M docs/a.md"], hidden: [] }
      assert.deepStrictEqual(seen, [expected, expected])
    })
  )

  const namesUnread = (...mode: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const { seen } = yield* seenAfter((at, git) => {
        put(at, "docs/deep/b.md", "edited\n")
        git("commit", "--quiet", "--all", "--message=docs")
        git("sparse-checkout", "set", "--cone", ...mode, "src")
      })
      assert.deepStrictEqual(seen[0]?.changes, [])
      assert.include(seen[0]?.hidden ?? [], "docs/deep/b.md")
    })
  it.live("a version that no capture has read is named", () => namesUnread("--sparse-index"))
  variants(() => {
    it.live("a version that no capture has read is named, with a whole index", () => namesUnread())
  })

  it.live("a sparse checkout whose index cannot be read is named, and a whole one tells its deletions", () =>
    Effect.gen(function* () {
      const broken = (at: string) => fs.writeFileSync(join(at, ".git/index"), "no index")
      const sparse = yield* seenAfter((at, git) => {
        git("sparse-checkout", "set", "--cone", "src")
        broken(at)
      })
      assert.deepStrictEqual(sparse.seen[0]?.changes, [])
      assert.lengthOf(sparse.seen[0]?.hidden ?? [], 4)
      const whole = yield* seenAfter((at) => {
        fs.rmSync(join(at, "docs"), { recursive: true })
        broken(at)
      })
      assert.deepStrictEqual(whole.seen, [{ changes: ["D docs/a.md", "D docs/deep/b.md"], hidden: [] }])
    })
  )

  it.live("a file in the place of a hidden folder takes the folder away", () =>
    Effect.gen(function* () {
      const { seen } = yield* seenAfter((at, git) => {
        git("sparse-checkout", "set", "--cone", "src")
        put(at, "docs", "a file\n")
      })
      assert.deepStrictEqual(seen[0]?.changes, ["A docs", "D docs/a.md", "D docs/deep/b.md"])
    })
  )

  it.live("a working tree without git, or with a new one, tells its deletions", () =>
    Effect.gen(function* () {
      const { seen } = yield* seenAfter(
        (at) => {
          fs.rmSync(join(at, ".git"), { recursive: true })
          fs.rmSync(join(at, "lib"), { recursive: true })
        },
        (_, git) => git("init", "--quiet")
      )
      const expected = { changes: ["D lib/c.js"], hidden: [] }
      assert.deepStrictEqual(seen, [expected, expected])
    })
  )
})

const path = fc.constantFrom(...Object.keys(start))
const step = fc.oneof(
  fc.record({ do: fc.constantFrom("remove" as const, "write" as const), path }),
  fc.record({ do: fc.constantFrom("skip" as const, "show" as const), path }),
  fc.record({
    do: fc.constantFrom("cone" as const, "patterns" as const),
    path: fc.constantFrom("src", "docs", "docs/deep", "名前")
  }),
  fc.record({ do: fc.constantFrom("disable" as const, "split" as const, "commit" as const), path: fc.constant("") })
)

type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

const commandsOf = ({ do: what, path }: Step): ReadonlyArray<ReadonlyArray<string>> => {
  switch (what) {
    case "skip":
      return [["update-index", "--skip-worktree", path]]
    case "show":
      return [["update-index", "--no-skip-worktree", path]]
    case "cone":
      return [["sparse-checkout", "set", "--cone", path]]
    case "patterns":
      return [["sparse-checkout", "set", "--no-cone", `/${path}/*`]]
    case "disable":
      return [["sparse-checkout", "disable"]]
    case "split":
      return [["update-index", "--split-index"]]
    case "commit":
      return [
        ["add", "--all", "--sparse"],
        ["commit", "--quiet", "--message=work"]
      ]
    default:
      return []
  }
}

const perform = (at: string, given: Step): void => {
  if (given.do === "remove") fs.rmSync(join(at, given.path), { force: true })
  if (given.do === "write") put(at, given.path, `${given.path} edited\n`)
  for (const command of commandsOf(given)) {
    try {
      plainGit(at, ...command)
    } catch {
      // git refuses a step where an earlier one has made it void.
    }
  }
}

it.live(
  `a capture tells as deleted exactly the files that git status does, after ${hiddenTrees} random walks`,
  () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) =>
          Effect.gen(function* () {
            const { base, git, gitDir, workTree } = yield* clonedOnce(start)
            for (const each of steps) perform(workTree, each)
            const { changes, hidden } = yield* git.snapshot({ gitDir, workTree, base })
            const deleted = changes.flatMap(({ letter, path }) =>
              letter === "D" ? [Buffer.from(path, "latin1").toString()] : []
            )
            const told = plainGit(
              workTree,
              "-c",
              "core.quotePath=false",
              "diff",
              "--name-only",
              "--no-renames",
              "--diff-filter=D",
              base ?? ""
            )
            const expected = told.split("\n").filter((each) => each !== "")
            assert.deepStrictEqual(
              deleted,
              expected.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
            )
            // A path that is named is one without a file.
            for (const each of hidden)
              assert.isFalse(fs.existsSync(join(workTree, Buffer.from(each, "latin1").toString())))
          }).pipe(Effect.scoped, Effect.provide(gitLayer), Effect.runPromise)
        ),
        { numRuns: hiddenTrees, endOnFailure: true }
      )
    ),
  600_000
)
