import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { EarlierCommit } from "@reins/machine/git/apply/JoinBranch"
import { branchHead, clonedOnce, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { joinedBranches } from "@reins/testing/Volume"
import { DateTime, Effect } from "effect"
import * as fc from "fast-check"

const branch = "work"
const paths = ["a", "b", "c/d", "c/e"] as const

/** A file gets another content, or goes with the content 0. */
const edit = fc.record({ path: fc.constantFrom(...paths), content: fc.nat(3) })
type Edit = typeof edit extends fc.Arbitrary<infer A> ? A : never

/** A turn of the agent and its delivery. People push before it, and also between its look at the branch and its push. */
const turn = fc.record({
  before: fc.array(edit, { maxLength: 2 }),
  work: fc.array(edit, { maxLength: 3 }),
  during: fc.array(edit, { maxLength: 1 })
})

type Files = Readonly<Record<string, string>>

const edited = (files: Files, edits: ReadonlyArray<Edit>): Files => {
  const next: Record<string, string> = { ...files }
  for (const { content, path } of edits)
    if (content === 0) delete next[path]
    else next[path] = `${path} ${content}\n`
  return next
}

/** The merge of whole files three ways, or the paths in conflict. */
const mergedFiles = (base: Files, ours: Files, theirs: Files): Files | ReadonlyArray<string> => {
  const next: Record<string, string> = {}
  const conflicts: Array<string> = []
  for (const path of paths) {
    const [b, o, t] = [base[path], ours[path], theirs[path]]
    const content = o === t || t === b ? o : o === b ? t : "conflict"
    if (content === "conflict") conflicts.push(path)
    else if (content !== undefined) next[path] = content
  }
  return conflicts.length > 0 ? conflicts : next
}

const isFiles = (merged: Files | ReadonlyArray<string>): merged is Files => !Array.isArray(merged)

const write = (root: string, files: Files) => {
  for (const path of paths) {
    rmSync(join(root, path), { force: true })
    const content = files[path]
    if (content !== undefined) put(root, path, content)
  }
}

const start: Files = { a: "a 1\n", "c/d": "c/d 1\n", keep: "keep\n" }

/** A commit of a person on the branch, made by one process. */
const push = (url: string, { content, path }: Edit) => {
  const text = `${path} ${content}\n`
  const change = content === 0 ? `D ${path}` : `M 100644 inline ${path}\ndata ${text.length}\n${text}`
  const input = `commit refs/heads/${branch}\ncommitter Bob <bob@example.com> 1700000000 +0000\ndata 5\nhuman\nfrom refs/heads/${branch}^0\n${change}\n`
  execFileSync("git", ["fast-import", "--quiet"], { cwd: url, input, stdio: ["pipe", "ignore", "inherit"] })
}

/** The files as the ids of their blobs, with the one that nobody touches. */
const idsOf = (files: Files): Files =>
  Object.fromEntries(
    Object.entries({ ...files, keep: "keep\n" }).map(([path, text]) => [
      path,
      createHash("sha1").update(`blob ${text.length}\0${text}`).digest("hex")
    ])
  )

/** A remote that takes nothing but forward moves, a session's files, and a person's clone. */
const scene = Effect.gen(function* () {
  const fixture = yield* clonedOnce(start)
  const { base, git, gitDir, url, workTree } = fixture
  plainGit(url, "config", "receive.denyNonFastForwards", "true")
  plainGit(url, "branch", branch, "main")
  const people: Array<string> = []
  let time = 1_700_000_000_000
  return {
    ...fixture,
    people,
    /** The files on the branch, as the ids of their blobs. */
    idsOnBranch: () =>
      Object.fromEntries(
        plainGit(url, "ls-tree", "-r", "--format=%(path) %(objectname)", branch)
          .split("\n")
          .map((line) => line.split(" "))
      ),
    /** Somebody else pushes one commit for each edit. */
    person: (edits: ReadonlyArray<Edit>) => {
      for (const each of edits) {
        push(url, each)
        people.push(branchHead(url, branch) ?? assert.fail("no branch"))
      }
    },
    capture: (files: Files) => {
      write(workTree, files)
      return Effect.map(git.snapshot({ gitDir, workTree, base }), ({ tree }) => tree)
    },
    head: Effect.map(git.remoteHead({ gitDir, url, branch }), (head) => head ?? assert.fail("no branch")),
    join: (
      head: string,
      tree: string,
      own: ReadonlyArray<string>,
      earlier: readonly [EarlierCommit, ...Array<EarlierCommit>]
    ) => git.joinBranch({ gitDir, url, branch, head, tree, own, earlier }),
    commit: (tree: string, parent: string) => {
      time += 1000
      return git.commitTree({ gitDir, tree, parents: [parent], message: "turn", date: DateTime.unsafeMake(time) })
    },
    push: (commit: string, expectedHead: string) =>
      git.push({ gitDir, url, branch, commit, expectedHead, strategy: "fast_forward" })
  }
})

/** The commits of the branch. */
const commitsIn = (url: string): ReadonlySet<string> => new Set(plainGit(url, "rev-list", branch).split("\n"))

const countOf = { pushes: 0, late: 0, conflicts: 0 }

/** Delivers each turn on top of what is on the branch, and compares its files with those of a merge by hand. */
const live = (turns: ReadonlyArray<typeof turn extends fc.Arbitrary<infer A> ? A : never>) =>
  Effect.gen(function* () {
    const it = yield* scene
    let files: Files = { a: "a 1\n", "c/d": "c/d 1\n" }
    let last = files
    let onBranch = files
    const person = (edits: ReadonlyArray<Edit>) => {
      it.person(edits)
      onBranch = edited(onBranch, edits)
    }
    let earlier: readonly [EarlierCommit, ...Array<EarlierCommit>] = [
      { commit: it.base ?? "", tree: yield* it.capture(files) }
    ]
    for (const { before, during, work } of turns) {
      person(before)
      files = edited(files, work)
      const tree = yield* it.capture(files)
      for (let attempt = 0; attempt < 3; attempt++) {
        const head = yield* it.head
        const expected = mergedFiles(last, files, onBranch)
        const joined = yield* it.join(head, tree, [], earlier)
        if (joined.state !== "merged") {
          assert.deepStrictEqual(joined.state === "conflicted" ? joined.paths : joined, expected)
          countOf.conflicts++
          break
        }
        const commit = yield* it.commit(joined.tree, head)
        if (attempt === 0) person(during)
        const pushed = yield* Effect.either(it.push(commit, head))
        if (pushed._tag === "Left") {
          assert.isTrue(attempt === 0 && during.length > 0, pushed.left.message)
          countOf.late++
          continue
        }
        countOf.pushes++
        onBranch = isFiles(expected) ? expected : assert.fail("a conflict was merged")
        assert.deepStrictEqual(it.idsOnBranch(), idsOf(onBranch))
        // Whoever asks again finds the commit, also below those of others.
        assert.deepStrictEqual(yield* it.join(commit, tree, [commit], earlier), { state: "contained", commit })
        earlier = [{ commit, tree }, ...earlier]
        last = files
        break
      }
      const commits = commitsIn(it.url)
      for (const made of [...it.people, ...earlier.map(({ commit }) => commit)]) assert.isTrue(commits.has(made))
    }
  })

describe("Git.joinBranch", () => {
  it.live(
    "loses no commit of a person in any life of a branch, and merges as whole files do",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 4 }), (turns) =>
            Effect.runPromise(Effect.scoped(live(turns)).pipe(Effect.provide(gitLayer)))
          ),
          { numRuns: joinedBranches }
        )
      ).pipe(Effect.tap(() => assert.isAbove(countOf.pushes, 0))),
    240_000
  )

  it.scopedLive("takes the nearest of our commits for the base, and the given order where the history has none", () =>
    Effect.gen(function* () {
      const it = yield* scene
      const trees = yield* Effect.forEach([1, 2, 3], (content) => it.capture({ a: `a ${content}\n`, b: "b\n" }))
      const [one = "", two = "", three = ""] = trees
      const first = yield* it.commit(one, it.base ?? "")
      const second = yield* it.commit(two, first)
      yield* it.push(second, it.base ?? "")
      // Against the tree of the first commit, both sides would have changed the file.
      const given = [
        { commit: first, tree: one },
        { commit: second, tree: two }
      ] as const
      assert.deepInclude(yield* it.join(second, three, [], [...given]), { state: "merged", isSame: false })
      const foreign = { commit: yield* it.commit(three, it.base ?? ""), tree: two }
      assert.deepInclude(yield* it.join(second, three, [], [foreign]), { state: "merged", tree: three })
      assert.deepInclude(yield* it.join(second, two, [], [...given]), { state: "merged", isSame: true })
    }).pipe(Effect.provide(gitLayer))
  )
})
