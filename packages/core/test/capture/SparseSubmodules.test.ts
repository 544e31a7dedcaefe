import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { gitLayer, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import { linksOf, open, subWith, superproject } from "./Superproject.js"

/** The folders of the workspace, one of which is a submodule itself. */
const folders = ["apps/web", "vendor/lib"]

/** The submodules that a sparse checkout has: at the root, beside a folder, below one, and as one. */
const inside = ["apps/beside", "apps/web/deep/sub", "root", "vendor/lib"]

/** Those that it leaves out. */
const outside = ["apps/api/sub", "docs/sub", "tools/other"]

const all = [...inside, ...outside].sort()

/** A remote with submodules at all of these places, and a way to clone it. Each submodule is at the first of two commits of its own remote. */
const world = Effect.gen(function* () {
  const git = yield* Git
  const root = yield* temporary
  const { ids, sub } = subWith(root, 2)
  const [first = "", second = ""] = ids
  const url = superproject(
    root,
    Object.fromEntries(
      ["a.txt", "apps/web/index.ts", "apps/api/server.ts", "docs/guide.md", "tools/t.sh"].map((path) => [
        path,
        `${path}\n`
      ])
    ),
    { sub, commit: first, paths: all }
  )
  const clone = (name: string, sparse?: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const places = { gitDir: join(root, `trusted-${name}`), workTree: join(root, `work-${name}`) }
      const { commit } = yield* git.clone({ url, ref: "main", ...places, ...(sparse && { sparse }) })
      const given = { ...places, base: commit ?? assert.fail("the remote is empty") }
      const captured = Effect.map(git.snapshot(given), (snapshot) => ({
        ...snapshot,
        links: linksOf(places.gitDir, snapshot.tree),
        paths: snapshot.files.map(({ path, status }) => `${status} ${path}`)
      }))
      return { ...given, captured }
    })
  /** Delivers a commit, clones its branch and checks every submodule out, as somebody else would. */
  const delivered = (gitDir: string, commit: string) =>
    Effect.gen(function* () {
      yield* git.push({ gitDir, url, commit, branch: "work", expectedHead: null, strategy: "fast_forward" })
      const fresh = join(root, "fresh")
      plainGit(root, "clone", "--quiet", "--branch=work", url, fresh)
      open(fresh, "submodule", "--quiet", "update", "--init")
      assert.strictEqual(plainGit(fresh, "status", "--porcelain"), "")
      return fresh
    })
  return { git, root, sub, first, second, clone, delivered }
})

const atFirst = (first: string) => Object.fromEntries(all.map((path) => [path, first]))

/** The tree that `git add --all --sparse` makes of a workspace, in the agent's own repository. */
const byHand = (workTree: string): string => {
  plainGit(workTree, "add", "--all", "--sparse")
  return plainGit(workTree, "write-tree")
}

/** Checks submodules out in a workspace, and moves them. */
const moveTo = (commit: string, workTree: string, ...paths: ReadonlyArray<string>) => {
  open(workTree, "submodule", "--quiet", "update", "--init", "--", ...paths)
  for (const path of paths) plainGit(join(workTree, path), "checkout", "--quiet", commit)
}

/** Brings changes of submodules from a whole workspace into a sparse one. */
const appliesSubmodules = (strategy: "exact" | "three_way") =>
  Effect.gen(function* () {
    const { clone, delivered, first, git, second, sub } = yield* world
    const from = yield* clone("whole")
    moveTo(second, from.workTree, "apps/beside", "docs/sub", "vendor/lib")
    plainGit(from.workTree, "rm", "--quiet", "apps/api/sub", "root", "tools/other")
    put(from.workTree, "tools/other", "a file now\n")
    open(from.workTree, "submodule", "--quiet", "add", sub, "docs/new")
    open(from.workTree, "submodule", "--quiet", "add", sub, "apps/web/new")
    const change = yield* from.captured
    const expected = {
      "apps/beside": second,
      "apps/web/deep/sub": first,
      "apps/web/new": second,
      "docs/new": second,
      "docs/sub": second,
      "vendor/lib": second
    }
    assert.deepStrictEqual(change.links, expected)
    const target = yield* clone(strategy, folders)
    const request = {
      source: { gitDir: from.gitDir, base: from.base, tree: change.tree },
      target: { gitDir: target.gitDir, workTree: target.workTree, base: target.base },
      strategy,
      dryRun: false
    }
    const applied = yield* git.applyTree(request)
    assert.deepStrictEqual([applied.state, applied.conflicts], ["applied", []], strategy)
    for (const lose of [false, true, true]) {
      if (lose) fs.rmSync(join(target.gitDir, "reins-index"), { force: true })
      const now = yield* target.captured
      assert.deepStrictEqual(now.links, expected, strategy)
      assert.strictEqual(now.tree, change.tree, strategy)
    }
    assert.deepStrictEqual((yield* git.applyTree(request)).changed, [])
    if (strategy === "three_way") yield* delivered(target.gitDir, (yield* target.captured).commit)
  }).pipe(Effect.provide(gitLayer))

describe("submodules of a sparse workspace", () => {
  it.scopedLive("have a folder inside alone, and all of them stay where nothing is done", () =>
    Effect.gen(function* () {
      const { clone, first } = yield* world
      const { base, captured, gitDir, workTree } = yield* clone("sparse", folders)
      for (const path of inside) assert.deepStrictEqual(fs.readdirSync(join(workTree, path)), [], path)
      for (const path of outside) assert.isFalse(fs.existsSync(join(workTree, path)), path)
      assert.strictEqual(plainGit(workTree, "status", "--porcelain"), "")
      for (const lose of [false, true, true]) {
        if (lose) fs.rmSync(join(gitDir, "reins-index"), { force: true })
        const { diagnostics, files, links, tree } = yield* captured
        assert.deepStrictEqual([files, diagnostics, links], [[], [], atFirst(first)])
        assert.strictEqual(tree, plainGit("/", `--git-dir=${gitDir}`, "rev-parse", `${base}^{tree}`))
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("are moved, removed, replaced and added where the agent does so, and are delivered so", () =>
    Effect.gen(function* () {
      const { clone, delivered, first, git, second, sub } = yield* world
      const { base, captured, gitDir, workTree } = yield* clone("sparse", folders)
      moveTo(second, workTree, "apps/web/deep/sub", "vendor/lib")
      plainGit(workTree, "rm", "--quiet", "apps/beside", "root")
      put(workTree, "root", "a file\n")
      open(workTree, "submodule", "--quiet", "add", sub, "apps/web/new")
      // The agent has cloned one of those outside all the same.
      plainGit(workTree, "clone", "--quiet", sub, "docs/sub")
      const links: Readonly<Record<string, string>> = {
        ...Object.fromEntries(outside.map((path) => [path, first])),
        "apps/web/deep/sub": second,
        "apps/web/new": second,
        "docs/sub": second,
        "vendor/lib": second
      }
      for (const lose of [false, true]) {
        if (lose) fs.rmSync(join(gitDir, "reins-index"), { force: true })
        const now = yield* captured
        assert.deepStrictEqual(now.links, links)
        assert.deepStrictEqual(now.paths, [
          "modified .gitmodules",
          "deleted apps/beside",
          "modified apps/web/deep/sub",
          "added apps/web/new",
          "modified docs/sub",
          "type_changed root",
          "modified vendor/lib"
        ])
      }
      const { commit, tree } = yield* captured
      assert.strictEqual(tree, byHand(workTree))
      const { diff } = yield* git.diff({ gitDir, base, tree })
      assert.include(diff, `-Subproject commit ${first}\n+Subproject commit ${second}`)
      assert.notInclude(diff, "diff --git a/tools/other")
      const fresh = yield* delivered(gitDir, commit)
      for (const path of Object.keys(links))
        assert.strictEqual(fs.readFileSync(join(fresh, path, "s.txt"), "utf8"), links[path] === second ? "2" : "1")
    }).pipe(Effect.provide(gitLayer))
  )

  variants(() => {
    it.scopedLive("outside of the folders and inside come, move and go by an application", () =>
      appliesSubmodules("exact")
    )
  })
  variants(() => {
    it.scopedLive("outside of the folders and inside come, move and go by a three-way application", () =>
      appliesSubmodules("three_way")
    )
  })

  variants(() => {
    it.scopedLive("outside are in a patch and in a workspace that is made anew", () =>
      Effect.gen(function* () {
        const { clone, git, root, second } = yield* world
        const one = yield* clone("sparse", folders)
        moveTo(second, one.workTree, "apps/web/deep/sub")
        plainGit(one.workTree, "clone", "--quiet", join(root, "sub"), "docs/sub")
        const { commit, links, tree } = yield* one.captured
        put(root, "patch", yield* git.patch({ gitDir: one.gitDir, base: one.base, tree }))
        const hand = join(root, "by-hand")
        plainGit(root, "clone", "--quiet", join(root, "remote.git"), hand)
        plainGit(hand, "apply", "--index", join(root, "patch"))
        assert.strictEqual(plainGit(hand, "write-tree"), tree)
        const again = { gitDir: join(root, "trusted-again"), workTree: join(root, "work-again"), base: one.base }
        fs.cpSync(one.gitDir, again.gitDir, { recursive: true })
        for (const name of ["reins-links", "reins-index"]) fs.rmSync(join(again.gitDir, name), { force: true })
        fs.mkdirSync(again.workTree)
        yield* git.checkOut({ ...again, commit })
        const restored = yield* git.snapshot(again)
        assert.deepStrictEqual(linksOf(again.gitDir, restored.tree), links)
        assert.strictEqual(restored.tree, tree)
      }).pipe(Effect.provide(gitLayer))
    )
  })
})
