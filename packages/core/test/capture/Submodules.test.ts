import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { gitLayer, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import { linksOf, open, subWith, superproject } from "./Superproject.js"

const commitAll = (work: string, message: string): string => {
  plainGit(work, "add", "--all")
  plainGit(work, "commit", "--quiet", "--allow-empty", `--message=${message}`)
  return plainGit(work, "rev-parse", "HEAD")
}

/** A session on a repository with submodules at these paths, each at the second of three commits of its remote. */
const withSubmodules = (...paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const { ids, sub } = subWith(root, 3)
    const [first = "", second = "", third = ""] = ids
    const files = { "a.txt": "a\n", "lib/code.c": "int a;\n" }
    const url = superproject(root, files, { sub, commit: second, paths })
    const gitDir = join(root, "trusted")
    const workTree = join(root, "work")
    const { commit: base } = yield* git.clone({ url, ref: "main", gitDir, workTree })
    const captured = Effect.map(git.snapshot({ gitDir, workTree, base }), (snapshot) => ({
      ...snapshot,
      links: linksOf(gitDir, snapshot.tree),
      said: snapshot.diagnostics.join("\n")
    }))
    return { git, root, sub, url, gitDir, workTree, base, captured, first, second, third }
  })

/** The tree that `git add --all` makes of a workspace, in the agent's own repository. */
const byHand = (workTree: string): string => {
  plainGit(workTree, "add", "--all")
  return plainGit(workTree, "write-tree")
}

describe("submodules of a snapshot", () => {
  it.scopedLive("stay, are removed, become files or folders, as the agent leaves them", () =>
    Effect.gen(function* () {
      const { captured, second, workTree } = yield* withSubmodules("v/stays", "v/gone", "v/file", "v/link", "v/folder")
      const before = yield* captured
      assert.deepStrictEqual([before.files, before.diagnostics], [[], []])
      plainGit(workTree, "rm", "--quiet", "v/gone", "v/file", "v/link", "v/folder")
      put(workTree, "v/file", "plain\n")
      fs.symlinkSync("stays", join(workTree, "v/link"))
      put(workTree, "v/folder/s.txt", "vendored\n")
      for (const _ of [1, 2]) {
        const { files, links, said, tree } = yield* captured
        assert.strictEqual(tree, byHand(workTree))
        assert.deepStrictEqual(links, { "v/stays": second })
        assert.deepStrictEqual(
          files.map(({ path, status }) => [path, status]),
          [
            [".gitmodules", "modified"],
            ["v/file", "type_changed"],
            ["v/folder", "deleted"],
            ["v/folder/s.txt", "added"],
            ["v/gone", "deleted"],
            ["v/link", "type_changed"]
          ]
        )
        assert.strictEqual(said, "")
      }
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("move to a commit that their remote has, and to no other", () =>
    Effect.gen(function* () {
      const { captured, first, second, third, workTree } = yield* withSubmodules("v/tip", "v/older", "v/own")
      open(workTree, "submodule", "--quiet", "update", "--init")
      const filled = yield* captured
      assert.deepStrictEqual(filled.files, [])
      plainGit(join(workTree, "v/tip"), "checkout", "--quiet", third)
      plainGit(join(workTree, "v/older"), "checkout", "--quiet", first)
      const own = commitAll(join(workTree, "v/own"), "own")
      const moved = yield* captured
      assert.deepStrictEqual(moved.links, { "v/tip": third, "v/older": first, "v/own": second })
      assert.match(
        moved.said,
        new RegExp(
          `"v/own" is a submodule, and the changeset keeps the commit ${second.slice(0, 12)}: .*${own.slice(0, 12)}`
        )
      )
      open(join(workTree, "v/own"), "push", "--quiet", "origin", "HEAD:refs/heads/other")
      const pushed = yield* captured
      assert.deepStrictEqual(pushed.links, { "v/tip": third, "v/older": first, "v/own": own })
      assert.strictEqual(pushed.tree, byHand(workTree))
    }).pipe(Effect.provide(gitLayer))
  )

  variants(() => {
    it.scopedLive("are added where .gitmodules names them, also in the place of files", () =>
      Effect.gen(function* () {
        const { captured, sub, third, workTree } = yield* withSubmodules()
        open(workTree, "submodule", "--quiet", "add", sub, "new/one")
        plainGit(workTree, "rm", "--quiet", "-r", "lib", "a.txt")
        open(workTree, "submodule", "--quiet", "add", sub, "lib")
        put(workTree, "lib/code.c", "int a;\n")
        open(workTree, "submodule", "--quiet", "add", sub, "a.txt")
        plainGit(workTree, "clone", "--quiet", sub, "unnamed")
        const { files, links, said } = yield* captured
        assert.deepStrictEqual(links, { "a.txt": third, lib: third, "new/one": third })
        assert.deepStrictEqual(
          files.map(({ path }) => path),
          [".gitmodules", "a.txt", "lib", "lib/code.c", "new/one"]
        )
        assert.match(said, /"unnamed\/" is a nested git repository/)
        commitAll(join(workTree, "new/one"), "own")
        const own = yield* captured
        assert.deepStrictEqual(own.links, { "a.txt": third, lib: third })
        assert.match(own.said, /"new\/one" is a submodule, and it is left out: no branch of its remote has/)
      }).pipe(Effect.provide(gitLayer))
    )
  })

  it.scopedLive("whose repository is hostile keep their commit, and nothing outside the workspace is read", () =>
    Effect.gen(function* () {
      const { captured, root, second, sub, workTree } = yield* withSubmodules("a", "b", "c", "d", "e")
      const outside = `gitdir: ${join(sub, ".git")}\n`
      const hostile: Readonly<Record<string, string>> = {
        a: outside,
        b: "gitdir: ../../sub/.git\n",
        c: "gitdir: ../escape\n",
        d: `gitdir: ${"x".repeat(100_000)}`,
        e: "no pointer"
      }
      fs.symlinkSync(join(sub, ".git"), join(workTree, "escape"))
      for (const [path, text] of Object.entries(hostile)) put(workTree, `${path}/.git`, text)
      const { links, said } = yield* captured
      assert.deepStrictEqual(links, Object.fromEntries(Object.keys(hostile).map((path) => [path, second])))
      for (const path of Object.keys(hostile)) assert.include(said, `"${path}" is a submodule, and the changeset keeps`)
      assert.isTrue(fs.existsSync(root))
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("stay as they are beside a .gitmodules that git cannot read", () =>
    Effect.gen(function* () {
      const { captured, second, workTree } = yield* withSubmodules("v")
      put(workTree, ".gitmodules", '[submodule "v"\n')
      assert.deepStrictEqual((yield* captured).links, { v: second })
      fs.rmSync(join(workTree, ".gitmodules"))
      fs.symlinkSync("/etc/passwd", join(workTree, ".gitmodules"))
      assert.deepStrictEqual((yield* captured).links, { v: second })
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("submodules of an application", () => {
  it.scopedLive("are added, moved and removed in a workspace that has no files of them", () =>
    Effect.gen(function* () {
      const one = yield* withSubmodules("moved", "gone", "file")
      const { git, sub, third } = one
      open(one.workTree, "submodule", "--quiet", "update", "--init", "moved")
      plainGit(join(one.workTree, "moved"), "checkout", "--quiet", third)
      plainGit(one.workTree, "rm", "--quiet", "gone", "file")
      put(one.workTree, "file", "plain\n")
      open(one.workTree, "submodule", "--quiet", "add", sub, "new/one")
      const { tree } = yield* one.captured
      const gitDir = join(one.root, "trusted-2")
      const workTree = join(one.root, "work-2")
      yield* git.clone({ url: one.url, ref: "main", gitDir, workTree })
      const request = {
        source: { gitDir: one.gitDir, base: one.base, tree },
        target: { gitDir, workTree, base: one.base },
        dryRun: false
      }
      put(workTree, "moved/in-the-way", "")
      const refused = yield* git.applyTree({ ...request, strategy: "three_way" })
      assert.deepStrictEqual([refused.state, refused.conflicts], ["conflicted", ["moved"]])
      fs.rmSync(join(workTree, "moved/in-the-way"))
      const applied = yield* git.applyTree({ ...request, strategy: "exact" })
      assert.strictEqual(applied.state, "applied")
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base: one.base })).tree, tree)

      const patch = yield* git.patch({ gitDir: one.gitDir, base: one.base, tree })
      put(one.root, "patch", patch)
      const third_ = join(one.root, "by-hand")
      plainGit(one.root, "clone", "--quiet", one.url, third_)
      plainGit(third_, "apply", "--index", join(one.root, "patch"))
      assert.strictEqual(plainGit(third_, "write-tree"), tree)

      const restored = { gitDir: join(one.root, "trusted-3"), workTree: join(one.root, "work-3"), base: one.base }
      fs.cpSync(one.gitDir, restored.gitDir, { recursive: true })
      fs.rmSync(join(restored.gitDir, "reins-links"), { force: true })
      fs.mkdirSync(restored.workTree)
      const { commit } = yield* one.captured
      yield* git.checkOut({ ...restored, commit })
      assert.strictEqual((yield* git.snapshot(restored)).tree, tree)
    }).pipe(Effect.provide(gitLayer))
  )
})
