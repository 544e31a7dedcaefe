import * as fs from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { gitLayer, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { sparseTrees } from "@reins/testing/Volume"
import { Effect } from "effect"
import * as fc from "fast-check"

// A capture of a sparse workspace and `git add --all --sparse` in a sparse clone by hand make the same tree of the same files.

const name = fc.constantFrom("a", "b", "c")
const folder = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"))
const file = fc
  .tuple(fc.option(folder), fc.constantFrom("a", "b", "x.txt", "y.log", ".gitignore", ".gitattributes"))
  .map(([above, last]) => (above === null ? last : `${above}/${last}`))

/** Rules and attributes are contents of their own kind of file, and all others are text. */
const contents: Readonly<Record<string, ReadonlyArray<string>>> = {
  ".gitignore": ["*.log\n", "/b\n", "!*.log\n"],
  ".gitattributes": ["*.txt text\n", "* -text\n", "*.txt text eol=crlf\n"]
}

const contentOf = (path: string, of: number): string => {
  const texts = contents[path.split("/").at(-1) ?? ""] ?? ["one\n", "one\r\ntwo\r\n", "three"]
  return texts[of % texts.length] ?? ""
}

const edit = fc.record({
  kind: fc.constantFrom("write" as const, "write" as const, "remove" as const, "folder" as const, "link" as const),
  at: fc.oneof(file, folder),
  content: fc.nat(8)
})
type Edit = typeof edit extends fc.Arbitrary<infer A> ? A : never

const scenario = fc.record({
  base: fc.array(fc.record({ at: file, content: fc.nat(8) }), { minLength: 1, maxLength: 14 }),
  cone: fc.uniqueArray(folder, { minLength: 1, maxLength: 3 }),
  edits: fc.array(edit, { maxLength: 8 }),
  more: fc.array(edit, { maxLength: 4 }),
  isForgotten: fc.boolean()
})
type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

/** Does what an agent may do: what is in the way goes. */
const perform = (root: string, { at, content, kind }: Edit): void => {
  const target = join(root, at)
  const above = at.split("/").slice(0, -1)
  for (const [index] of above.entries()) {
    const path = join(root, ...above.slice(0, index + 1))
    if (fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false) fs.rmSync(path)
  }
  fs.rmSync(target, { recursive: true, force: true })
  if (kind === "write") put(root, at, contentOf(at, content))
  else if (kind === "folder") put(root, `${at}/in`, "in\n")
  else if (kind === "link") {
    fs.mkdirSync(join(target, ".."), { recursive: true })
    fs.symlinkSync("elsewhere", target)
  }
}

/** A hidden file makes room for a folder whose content is ignored. */
const replaced: Scenario = {
  base: [
    { at: "b/x.txt", content: 0 },
    { at: ".gitignore", content: 1 },
    { at: "a/a", content: 0 }
  ],
  cone: ["a"],
  edits: [{ kind: "folder", at: "b/x.txt", content: 0 }],
  more: [],
  isForgotten: false
}

/** Attributes outside of the cone are of a file that an agent writes there. */
const attributed: Scenario = {
  base: [
    { at: "b/b/a/y.log", content: 3 },
    { at: "c/a/c/.gitattributes", content: 6 },
    { at: "a/c/b/.gitignore", content: 7 },
    { at: "c/a/y.log", content: 8 },
    { at: "a/.gitignore", content: 0 },
    { at: "b/y.log", content: 3 },
    { at: "c/b/c/y.log", content: 1 },
    { at: "c/.gitattributes", content: 0 }
  ],
  cone: ["b"],
  edits: [{ kind: "link", at: "a", content: 8 }],
  more: [
    { kind: "write", at: "c/a/b/x.txt", content: 4 },
    { kind: "link", at: "b/a/c", content: 7 },
    { kind: "link", at: "b/b/a", content: 8 },
    { kind: "remove", at: "c/x.txt", content: 8 }
  ],
  isForgotten: true
}

const makeRemote = (url: string, base: Scenario["base"]): void => {
  plainGit("/", "init", "--quiet", "--template=", "--initial-branch=main", url)
  for (const { at, content } of base)
    try {
      put(url, at, contentOf(at, content))
    } catch (cause) {
      // A file stands where the path needs a folder, or a folder where the file would be.
      if (!(cause instanceof Error && "code" in cause && ["ENOTDIR", "EEXIST", "EISDIR"].includes(String(cause.code))))
        throw cause
    }
  plainGit(url, "add", "--all", "--force")
  plainGit(url, "commit", "--quiet", "--allow-empty", "--message=base")
}

/**
 * Brings hidden attributes of folders that exist back. git heeds them in the index from 2.43 on, and captures do before every git. An older git heeds
 * those alone that are in the working tree.
 */
const showAttributes = (root: string): void => {
  for (const record of plainGit(root, "ls-files", "-v", "-z").split("\0")) {
    const path = record.slice(2)
    if (!record.startsWith("S ") || !/(?:^|\/)\.gitattributes$/.test(path)) continue
    const target = join(root, path)
    const isFolder = join(path, "..")
      .split("/")
      .every((_, index, names) => {
        const above = fs.lstatSync(join(root, ...names.slice(0, index + 1)), { throwIfNoEntry: false })
        return above?.isDirectory() === true
      })
    if (isFolder && fs.lstatSync(target, { throwIfNoEntry: false }) === undefined)
      fs.writeFileSync(target, `${plainGit(root, "cat-file", "blob", `:${path}`)}\n`)
  }
}

const bothTrees = ({ base, cone, edits, isForgotten, more }: Scenario) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const [url, byHand] = [join(root, "url"), join(root, "by-hand")]
    makeRemote(url, base)
    const [gitDir, workTree] = [join(root, "trusted"), join(root, "work")]
    const { commit } = yield* git.clone({ url, ref: "main", gitDir, workTree, sparse: cone })
    const clean = plainGit(workTree, "status", "--porcelain")
    for (const each of edits) perform(workTree, each)
    yield* git.snapshot({ gitDir, workTree, base: commit })
    for (const each of more) perform(workTree, each)
    if (isForgotten) fs.rmSync(join(gitDir, "reins-index"), { force: true })
    const captured = yield* git.snapshot({ gitDir, workTree, base: commit })
    const again = yield* git.snapshot({ gitDir, workTree, base: commit })

    plainGit(root, "clone", "--quiet", "--template=", "--no-checkout", url, byHand)
    plainGit(byHand, "sparse-checkout", "set", "--cone", ...cone)
    plainGit(byHand, "checkout", "--quiet", "main")
    for (const each of [...edits, ...more]) perform(byHand, each)
    showAttributes(byHand)
    plainGit(byHand, "add", "--all", "--sparse")
    return { clean, captured, again, byHand: plainGit(byHand, "write-tree") }
  })

it(
  `the tree of a sparse capture is that of git add --sparse by hand, of ${sparseTrees} random trees and cones`,
  () =>
    fc.assert(
      fc.asyncProperty(scenario, (given) =>
        bothTrees(given).pipe(
          Effect.tap(({ again, byHand, captured, clean }) => {
            assert.strictEqual(clean, "")
            assert.strictEqual(
              captured.tree,
              byHand,
              captured.changes.map(({ letter, path }) => `${letter} ${path}`).join("\n")
            )
            assert.strictEqual(again.tree, byHand)
          }),
          Effect.asVoid,
          Effect.scoped,
          Effect.provide(gitLayer),
          Effect.runPromise
        )
      ),
      { numRuns: sparseTrees, endOnFailure: true, examples: [[replaced], [attributed]] }
    ),
  60_000 + sparseTrees * 30_000
)
