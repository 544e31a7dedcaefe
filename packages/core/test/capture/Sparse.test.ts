import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clonedOnce, gitLayer, plainGit, put } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"

const files = {
  "README.md": "root\n",
  ".gitignore": "*.log\n",
  "apps/package.json": "{}\n",
  "apps/web/index.ts": "web\n",
  "apps/web/deep/page.ts": "page\n",
  "apps/api/server.ts": "api\n",
  "packages/ui/button.ts": "button\n",
  "docs/guide.md": "guide\n",
  "docs/.gitignore": "drafts/\n",
  "docs/.gitattributes": "*.txt text eol=crlf\n",
  "docs/old.txt": "one\ntwo\n"
}

const folders = ["apps/web", "packages/ui"]

const inside = [
  ".gitignore",
  "README.md",
  "apps/package.json",
  "apps/web/deep/page.ts",
  "apps/web/index.ts",
  "packages/ui/button.ts"
]

/** A sparse clone beside others of the same remote. */
const sparse = (given: Readonly<Record<string, string>> = files, cone: ReadonlyArray<string> = folders) =>
  Effect.gen(function* () {
    const { base, git, gitDir, root, url, workTree } = yield* clonedOnce(given, cone)
    const isThere = (commit: string | null) => commit ?? assert.fail("the remote is empty")
    /** A clone with every folder. */
    const clone = (name: string) =>
      Effect.gen(function* () {
        const places = { gitDir: join(root, `trusted-${name}`), workTree: join(root, `work-${name}`) }
        const { commit } = yield* git.clone({ url, ref: null, ...places })
        return { ...places, base: isThere(commit) }
      })
    return { git, root, url, clone, gitDir, workTree, base: isThere(base) }
  })

const filesIn = (workTree: string): ReadonlyArray<string> =>
  fs
    .readdirSync(workTree, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(workTree.length + 1))
    .filter((path) => !path.startsWith(".git/"))
    .sort()

const baseTree = (gitDir: string, base: string) => plainGit("/", `--git-dir=${gitDir}`, "rev-parse", `${base}^{tree}`)

const paths = (changed: ReadonlyArray<{ readonly path: string }>) => changed.map(({ path }) => path)

const status = (workTree: string) => plainGit(workTree, "status", "--porcelain")

describe("a sparse workspace", () => {
  it.scoped("tells of what the agent's git removes outside of its folders, and deletes what was shown before", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* sparse()
      const outside = plainGit(workTree, "ls-files", "-t")
        .split("\n")
        .flatMap((line) => (line.startsWith("S ") ? [line.slice(2)] : []))
      const [first, second] = outside
      if (first === undefined || second === undefined) return assert.fail("nothing is outside")
      plainGit(workTree, "rm", "--quiet", "--sparse", "--cached", first)
      const kept = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(kept.changes, [])
      const told = yield* git.leftBehind({ gitDir, workTree, base, tree: kept.tree })
      assert.deepStrictEqual(told, [
        `The agent's git has removed files outside of the sparse folders, which the changeset keeps: ${JSON.stringify(first)}`
      ])
      plainGit(workTree, "sparse-checkout", "disable")
      yield* git.snapshot({ gitDir, workTree, base })
      fs.rmSync(join(workTree, second))
      const { changes } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(
        changes.map(({ letter, path }) => [letter, path]),
        [["D", second]]
      )
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive(
    "holds its folders and the files above them, and the agent's git is a sparse checkout that is clean",
    () =>
      Effect.gen(function* () {
        const { base, git, gitDir, workTree } = yield* sparse()
        assert.deepStrictEqual(filesIn(workTree), inside)
        assert.strictEqual(status(workTree), "")
        assert.strictEqual(plainGit(workTree, "sparse-checkout", "list"), folders.join("\n"))
        const patterns = fs.readFileSync(join(workTree, ".git/info/sparse-checkout"), "utf8")
        plainGit(workTree, "sparse-checkout", "set", "--cone", ...folders)
        assert.strictEqual(fs.readFileSync(join(workTree, ".git/info/sparse-checkout"), "utf8"), patterns)
        const { changes, diagnostics, tree } = yield* git.snapshot({ gitDir, workTree, base })
        assert.deepStrictEqual([changes, diagnostics], [[], []])
        assert.strictEqual(tree, baseTree(gitDir, base))
      }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a file that is not there was not deleted, one inside was, and one outside is captured", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* sparse()
      fs.rmSync(join(workTree, "apps/web/deep"), { recursive: true })
      put(workTree, "docs/new.md", "new\n")
      put(workTree, "docs/guide.md", "another\n")
      put(workTree, "docs/drafts/secret.md", "ignored by a rule that is not there\n")
      put(workTree, "elsewhere/a.log", "ignored\n")
      const expected = ["apps/web/deep/page.ts", "docs/guide.md", "docs/new.md"]
      const first = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(first.files), expected)
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, first.tree)
      fs.rmSync(join(gitDir, "reins-index"))
      assert.strictEqual((yield* git.snapshot({ gitDir, workTree, base })).tree, first.tree)
      fs.rmSync(join(workTree, "docs"), { recursive: true })
      const second = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(second.files), ["apps/web/deep/page.ts"])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a lost index is made again without looking for what is not there each time", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* sparse()
      fs.rmSync(join(gitDir, "reins-index"))
      yield* git.snapshot({ gitDir, workTree, base })
      fs.copyFileSync(join(gitDir, "reins-index"), join(gitDir, "index"))
      const listed = plainGit("/", `--git-dir=${gitDir}`, "ls-files", "-t").split("\n")
      const skipped = listed.filter((line) => line.startsWith("S ")).map((line) => line.slice(2))
      assert.deepStrictEqual(
        skipped,
        Object.keys(files)
          .filter((path) => !inside.includes(path))
          .sort()
      )
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a file in the place of a folder that is not there replaces what the folder holds", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* sparse()
      put(workTree, "docs", "now a file\n")
      const { files: changed } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(
        changed.map(({ path, status: each }) => `${each} ${path}`),
        [
          "added docs",
          "deleted docs/.gitattributes",
          "deleted docs/.gitignore",
          "deleted docs/guide.md",
          "deleted docs/old.txt"
        ]
      )
      fs.rmSync(join(workTree, "docs"))
      assert.deepStrictEqual((yield* git.snapshot({ gitDir, workTree, base })).files, [])
      put(workTree, "docs/guide.md/inner", "a folder in the place of a file\n")
      assert.deepStrictEqual(paths((yield* git.snapshot({ gitDir, workTree, base })).files), [
        "docs/guide.md",
        "docs/guide.md/inner"
      ])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("content outside is stored as the attributes of its folder say, though their file is not there", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, workTree } = yield* sparse()
      put(workTree, "docs/old.txt", "one\r\ntwo\r\n")
      put(workTree, "docs/more.txt", "three\r\n")
      const { files: changed, tree } = yield* git.snapshot({ gitDir, workTree, base })
      assert.deepStrictEqual(paths(changed), ["docs/more.txt"])
      const { bytes } = yield* git.readBlob({ gitDir, tree, path: "docs/more.txt", maxBytes: 100 })
      assert.strictEqual(Buffer.from(bytes).toString(), "three\n")
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("folders with special names, nested folders and unknown folders are those that git makes of them", () =>
    Effect.gen(function* () {
      const names = ["a*b", "a?b", "[x]", "ä ö", "deep/er", "deep", "unknown/folder", "!bang", "#hash"]
      const given = Object.fromEntries(
        [
          "a*b/1",
          "axb/1",
          "a?b/1",
          "[x]/1",
          "x/1",
          "ä ö/1",
          "deep/er/1",
          "deep/2",
          "other/1",
          "!bang/1",
          "#hash/1"
        ].map((path) => [path, "x\n"])
      )
      const { base, git, gitDir, root, url, workTree } = yield* sparse(given, names)
      const byHand = join(root, "by-hand")
      plainGit(root, "clone", "--quiet", "--no-checkout", url, byHand)
      plainGit(byHand, "sparse-checkout", "set", "--cone", "--skip-checks", ...names)
      plainGit(byHand, "checkout", "--quiet", "main")
      assert.deepStrictEqual(filesIn(workTree), filesIn(byHand))
      assert.strictEqual(status(workTree), "")
      assert.deepStrictEqual((yield* git.snapshot({ gitDir, workTree, base })).files, [])
      fs.rmSync(workTree, { recursive: true })
      fs.mkdirSync(workTree)
      const gone = yield* git.snapshot({ gitDir, workTree, base })
      assert.sameMembers([...paths(gone.files)], [...filesIn(byHand)])
    }).pipe(Effect.provide(gitLayer))
  )
})

describe("a change that touches files outside of the folders", () => {
  /** A change made in a whole workspace, to bring into a sparse one. */
  const changed = (change: (workTree: string) => void) =>
    Effect.gen(function* () {
      const { clone, git, root, ...target } = yield* sparse()
      const from = yield* clone("whole")
      change(from.workTree)
      const { commit, tree } = yield* git.snapshot(from)
      const { base, gitDir, workTree } = target
      return { git, root, commit, source: { gitDir: from.gitDir, base, tree }, target: { base, gitDir, workTree } }
    })

  const edit = (work: string) => {
    put(work, "apps/web/index.ts", "web 2\n")
    put(work, "docs/old.txt", "one\r\n2\r\n")
    put(work, "docs/new.txt", "new\r\n")
    fs.rmSync(join(work, "docs/guide.md"))
    fs.rmSync(join(work, "apps/api"), { recursive: true })
  }

  const applies = (strategy: "exact" | "three_way") =>
    Effect.gen(function* () {
      const { git, source, target } = yield* changed(edit)
      const request = { source, target, strategy, dryRun: false }
      const touched = ["apps/api/server.ts", "apps/web/index.ts", "docs/guide.md", "docs/new.txt", "docs/old.txt"]
      assert.deepStrictEqual(yield* git.applyTree({ ...request, dryRun: true }), {
        state: "applied",
        conflicts: [],
        changed: touched
      })
      assert.deepStrictEqual(filesIn(target.workTree), inside)
      assert.deepStrictEqual(yield* git.applyTree(request), { state: "applied", conflicts: [], changed: touched })
      const come = ["docs/.gitattributes", "docs/new.txt", "docs/old.txt"]
      assert.deepStrictEqual(filesIn(target.workTree), [...inside, ...come].sort())
      assert.strictEqual(fs.readFileSync(join(target.workTree, "docs/new.txt"), "utf8"), "new\r\n")
      assert.strictEqual((yield* git.snapshot(target)).tree, source.tree)
      assert.strictEqual((yield* git.snapshot(target)).tree, source.tree)
      fs.rmSync(join(target.gitDir, "reins-index"))
      assert.strictEqual((yield* git.snapshot(target)).tree, source.tree)
      assert.deepStrictEqual(yield* git.applyTree(request), { state: "applied", conflicts: [], changed: [] })
      put(target.workTree, "docs/guide.md", files["docs/guide.md"])
      assert.notInclude(paths((yield* git.snapshot(target)).files), "docs/guide.md")
    }).pipe(Effect.provide(gitLayer))
  it.scopedLive("is applied exact: its files are written, and what it removes stays removed", () => applies("exact"))
  variants(() => {
    it.scopedLive("is applied three_way: its files are written, and what it removes stays removed", () =>
      applies("three_way")
    )
  })

  variants(() => {
    it.scopedLive(
      "brings back what another one has removed, and conflicts where the agent has changed the same file",
      () =>
        Effect.gen(function* () {
          const { git, source, target } = yield* changed(edit)
          const request = { source, target, strategy: "three_way", dryRun: false } as const
          yield* git.applyTree(request)
          const { tree } = yield* git.snapshot(target)
          const back = { gitDir: source.gitDir, base: null, tree: baseTree(source.gitDir, target.base) }
          const { commit } = yield* git.snapshot(target)
          const reversed = { ...back, base: commit, gitDir: target.gitDir }
          assert.strictEqual((yield* git.applyTree({ ...request, source: reversed })).state, "applied")
          assert.strictEqual((yield* git.snapshot(target)).tree, back.tree)
          assert.notStrictEqual(tree, back.tree)
          put(target.workTree, "docs/guide.md", "of the agent\n")
          const refused = yield* git.applyTree(request)
          assert.deepStrictEqual([refused.state, refused.conflicts], ["conflicted", ["docs/guide.md"]])
        }).pipe(Effect.provide(gitLayer))
    )

    it.scopedLive("is there again when the workspace is made anew from bundles", () =>
      Effect.gen(function* () {
        const { git, root, source, target } = yield* changed(edit)
        yield* git.applyTree({ source, target, strategy: "exact", dryRun: false })
        const { base, gitDir } = target
        const captured = yield* git.snapshot({ ...target, whole: true })
        yield* git.keep({ gitDir, ref: "sealed", commit: captured.commit })
        const [baseFile, workFile] = [join(root, "base.bundle"), join(root, "work.bundle")]
        yield* git.bundle({ gitDir, what: "base", base, file: baseFile })
        yield* git.bundle({ gitDir, what: "work", base, file: workFile })
        const again = { gitDir: join(root, "trusted-again"), workTree: join(root, "work-again"), base }
        fs.mkdirSync(again.workTree)
        yield* git.unbundle({
          gitDir: again.gitDir,
          base: { kind: "bundle", file: baseFile, commit: base },
          file: workFile,
          sparse: folders,
          copyBaseTo: null
        })
        yield* git.checkOut({ ...again, commit: captured.commit })
        fs.copyFileSync(join(gitDir, "reins-removed"), join(again.gitDir, "reins-removed"))
        assert.deepStrictEqual(filesIn(again.workTree), filesIn(target.workTree))
        assert.strictEqual(fs.readFileSync(join(again.workTree, "docs/new.txt"), "utf8"), "new\r\n")
        assert.strictEqual((yield* git.snapshot(again)).tree, captured.tree)
      }).pipe(Effect.provide(gitLayer))
    )
  })
})
