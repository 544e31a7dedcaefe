import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clonedOnce, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"

const start = { ".gitignore": "dist/\n*.log\n", "a.txt": "one\n", "b.txt": "b\n" }

type Do = (workTree: string, git: (...args: ReadonlyArray<string>) => string) => void

/** The sentences after an agent has worked in a clone. */
const saidAfter = (work: Do) =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* clonedOnce(start)
    work(workTree, (...args) => plainGit(workTree, ...args))
    const { diagnostics, tree } = yield* git.snapshot({ gitDir, workTree, base })
    return [...diagnostics, ...(yield* git.leftBehind({ gitDir, workTree, base, tree }))]
  })

type Case = readonly [what: string, work: Do, told: RegExp | null]

const cases: ReadonlyArray<Case> = [
  ["nothing", () => {}, null],
  [
    "a commit on the branch, and more work after it",
    (at, git) => {
      put(at, "a.txt", "two\n")
      put(at, "new.txt", "n\n")
      git("add", "-A")
      git("commit", "-qm", "work")
      put(at, "a.txt", "three\n")
    },
    null
  ],
  [
    "an ignored file that was committed",
    (at, git) => {
      put(at, "dist/app.js", "built\n")
      git("add", "-f", "dist/app.js")
      git("commit", "-qm", "built")
    },
    /ignore rules leave out of the changeset: "dist\/app.js"/
  ],
  [
    "a commit on another branch, with packed refs and objects",
    (at, git) => {
      git("checkout", "-qb", "feature")
      put(at, "f.txt", "f\n")
      git("add", "-A")
      git("commit", "-qm", "feature")
      git("checkout", "-q", "main")
      git("gc", "-q")
    },
    /branch or tag "feature" .* "f.txt"/
  ],
  [
    "a detached HEAD with commits",
    (at, git) => {
      git("checkout", "-q", "--detach")
      put(at, "f.txt", "f\n")
      git("add", "-A")
      git("commit", "-qm", "alone")
    },
    /detached HEAD of the agent's git has 1 commit that no branch has/
  ],
  [
    "a stash, with files that were not tracked",
    (at, git) => {
      put(at, "a.txt", "two\n")
      put(at, "u.txt", "u\n")
      git("stash", "-q", "-u")
    },
    /stash entry 0 of the agent's git holds work that is not part of the changeset: "a.txt", "u.txt"/
  ],
  [
    "a version that was staged and overwritten",
    (at, git) => {
      put(at, "a.txt", "two\n")
      git("add", "a.txt")
      put(at, "a.txt", "three\n")
    },
    /index of the agent's git holds other versions .*: "a.txt"/
  ],
  [
    "another worktree",
    (at, git) => {
      git("worktree", "add", "-q", "-b", "side", join(at, "..", "side"))
      put(join(at, "..", "side"), "w.txt", "w\n")
      plainGit(join(at, "..", "side"), "add", "-A")
      plainGit(join(at, "..", "side"), "commit", "-qm", "side")
    },
    /worktree "side" at ".*side"[\s\S]*branch or tag "side" .* "w.txt"|branch or tag "side" .* "w.txt"/
  ],
  [
    "a nested repository",
    (at) => {
      put(at, "sub/x.txt", "x\n")
      plainGit(join(at, "sub"), "init", "-q")
    },
    /"sub\/" is a nested git repository/
  ]
]

/** More ways in which git is used, or left. */
const more: ReadonlyArray<Case> = [
  ["work in the working tree alone", (at) => put(at, "a.txt", "two\n"), null],
  [
    "a branch that was merged",
    (at, git) => {
      git("checkout", "-qb", "feature")
      put(at, "f.txt", "f\n")
      git("add", "-A")
      git("commit", "-qm", "feature")
      git("checkout", "-q", "main")
      git("merge", "-q", "--squash", "feature")
      git("commit", "-qm", "merged")
    },
    null
  ],
  ["files that were removed and not staged", (at) => fs.rmSync(join(at, "b.txt")), null],
  [
    "an ignored file that was only added",
    (at, git) => {
      put(at, "x.log", "log\n")
      git("add", "-f", "x.log")
    },
    /ignore rules leave out of the changeset: "x.log"/
  ],
  [
    "a commit on another branch",
    (at, git) => {
      git("checkout", "-qb", "feature/é")
      put(at, "f.txt", "f\n")
      git("add", "-A")
      git("commit", "-qm", "feature")
      git("checkout", "-q", "main")
    },
    /branch or tag "feature\/é" of the agent's git has 1 commit with work that is not part of the changeset: "f.txt"/
  ],
  [
    "commits that are only tagged",
    (at, git) => {
      git("checkout", "-q", "--detach")
      put(at, "f.txt", "f\n")
      git("add", "-A")
      git("commit", "-qm", "tagged")
      git("tag", "v1")
      git("checkout", "-q", "main")
    },
    /branch or tag "v1" .* "f.txt"/
  ],
  [
    "an older stash",
    (at, git) => {
      for (const text of ["two\n", "three\n"]) {
        put(at, "a.txt", text)
        git("stash", "-q")
      }
    },
    /stash entry 1 .* "a.txt"/
  ],
  [
    "a stash that was brought back",
    (at, git) => {
      put(at, "a.txt", "two\n")
      git("stash", "-q")
      git("stash", "apply", "-q")
    },
    null
  ],
  [
    "a file that was staged and removed",
    (at, git) => {
      put(at, "s.txt", "s\n")
      git("add", "s.txt")
      fs.rmSync(join(at, "s.txt"))
    },
    /index of the agent's git holds files that the working tree does not have: "s.txt"/
  ]
]

const conflicting = (at: string, git: (...args: ReadonlyArray<string>) => string) => {
  git("checkout", "-qb", "other")
  put(at, "a.txt", "theirs\n")
  git("commit", "-qam", "theirs")
  git("checkout", "-q", "main")
  put(at, "a.txt", "ours\n")
  git("commit", "-qam", "ours")
}

const halted = (what: string, ...args: ReadonlyArray<string>): Case => [
  what,
  (at: string, git: (...args: ReadonlyArray<string>) => string) => {
    conflicting(at, git)
    assert.throws(() => git(...args))
  },
  new RegExp(`is in the middle of ${what}`)
]

describe("work that is left in the agent's git", () => {
  const isTold = ([what, work, told]: Case) =>
    it.scopedLive(`${what} is ${told === null ? "not told" : "told"}`, () =>
      Effect.gen(function* () {
        const said = yield* saidAfter(work)
        if (told === null) assert.deepStrictEqual(said, [])
        else assert.match(said.join("\n"), told)
      }).pipe(Effect.provide(gitLayer))
    )

  for (const each of [...cases, halted("a rebase", "rebase", "-q", "other")]) isTold(each)
  variants(() => {
    for (const each of more) isTold(each)
    for (const each of [
      halted("a merge", "merge", "-q", "other"),
      halted("a cherry-pick", "cherry-pick", "other"),
      halted("a revert", "revert", "--no-edit", "other")
    ])
      isTold(each)
  })

  it.scopedLive("a repository that is not as it should be runs nothing, leads nowhere, and fails no capture", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* clonedOnce(start)
      const marker = join(root, "marker")
      const trap = join(root, "trap")
      fs.writeFileSync(trap, `#!/bin/sh\ntouch '${marker}'\n`, { mode: 0o755 })
      const secret = join(root, "secret")
      plainGit("/", "init", "-q", secret)
      put(secret, "secret.txt", "s\n")
      plainGit(secret, "add", "-A")
      plainGit(secret, "commit", "-qm", "secret")
      const hidden = plainGit(secret, "rev-parse", "HEAD")
      for (const name of ["core.fsmonitor", "core.hooksPath", "core.alternateRefsCommand", "core.pager"])
        plainGit(workTree, "config", name, trap)
      const own = join(workTree, ".git")
      put(own, "objects/info/alternates", `${join(secret, ".git/objects")}\n`)
      put(own, "refs/heads/leads-out", `${hidden}\n`)
      put(own, "refs/heads/nothing", `${"1".repeat(40)}\n`)
      fs.symlinkSync(join(secret, ".git/refs/heads"), join(own, "refs/heads/link"))
      spawnSync("mkfifo", [join(own, "refs/heads/fifo"), join(own, "BISECT_LOG")])
      fs.rmSync(join(own, "index"))
      fs.symlinkSync(join(secret, ".git/index"), join(own, "index"))
      const { tree } = yield* git.snapshot({ gitDir, workTree, base })
      const said = (yield* git.leftBehind({ gitDir, workTree, base, tree })).join("\n")
      assert.notInclude(said, "secret.txt")
      assert.match(said, /"leads-out" of the agent's git could not be read/)
      assert.match(said, /"nothing" of the agent's git could not be read/)
      assert.match(said, /The index of the agent's git could not be read/)
      assert.match(said, /in the middle of a bisection/)
      assert.isFalse(fs.existsSync(marker))
      for (const put of [
        () => {},
        () => fs.symlinkSync(join(secret, ".git"), own),
        () => fs.writeFileSync(own, "gitdir: ../secret/.git\n")
      ]) {
        fs.rmSync(own, { recursive: true, force: true })
        put()
        const again = yield* git.leftBehind({ gitDir, workTree, base, tree })
        assert.notInclude(again.join("\n"), "secret")
      }
    }).pipe(Effect.provide(gitLayer))
  )
})
