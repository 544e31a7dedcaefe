import * as fs from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { isGitName } from "@reins/machine/files/WorkspacePath"
import { Git } from "@reins/machine/git/Git"
import { gitLayer, plainGit, put, temporary } from "@reins/testing/git/Fixture"
import { stagedTrees } from "@reins/testing/Volume"
import { Effect } from "effect"
import * as fc from "fast-check"

// A capture and `git add --all` by hand make the same tree of the same files. Their names and attributes make no difference.

const suffixes = [".txt", ".bat", ".bin", ".id", ".u16", ".auto", ""] as const

const attributes = [
  "*.txt text\n",
  "*.bat text eol=crlf\n",
  "*.bin -text\n",
  "*.id ident\n",
  "*.u16 text working-tree-encoding=UTF-16 eol=crlf\n",
  "*.auto text=auto\n"
] as const

const isName = (bytes: Buffer): boolean =>
  !bytes
    .toString("utf8")
    .split(/[\\/]/)
    .some((part) => isGitName(part) || part === "." || part === "..") && !bytes.includes(0)

const part = fc.oneof(
  fc
    .constantFrom("a", "b", "c d", "ü", "#", '"q"', "-x", ":(top)", "*", "\n", "\t", "!")
    .map((text) => Buffer.from(text)),
  fc
    .uint8Array({ minLength: 1, maxLength: 6 })
    .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))))
)

/** A path as latin1: a folder or none, and a name whose end decides its attributes. */
const path = fc
  .tuple(fc.option(fc.constantFrom("dir", "dir/deep", "ö")), part, fc.constantFrom(...suffixes))
  .map(([folder, name, suffix]) => [
    ...(folder === null ? [] : [Buffer.from(folder), Buffer.from("/")]),
    name,
    Buffer.from(suffix)
  ])
  .map((parts) => Buffer.concat(parts))
  .filter(isName)
  .map((bytes) => bytes.toString("latin1"))

const text = fc.constantFrom(
  "",
  "one\n",
  "one\ntwo\n",
  "one\r\ntwo\r\n",
  "one\r\ntwo\n",
  "cr\rcr",
  "no end",
  "$Id$\n",
  "$Id: of another $\r\n",
  "nul\0\r\n",
  "ü\r\n\u{1f600}\n"
)

/** Content that git can store at the path: `UTF-16` wants a byte order mark. */
const contentAt = (at: string, content: string): Buffer =>
  at.endsWith(".u16") ? Buffer.from(`\ufeff${content.replaceAll("\0", "")}`, "utf16le") : Buffer.from(content)

type Edit =
  | { readonly kind: "write" | "link"; readonly at: string; readonly content: string; readonly isExecutable: boolean }
  | { readonly kind: "remove" | "folder"; readonly at: string }

const write = fc.record({ kind: fc.constant("write" as const), at: path, content: text, isExecutable: fc.boolean() })
const link = fc.record({
  kind: fc.constant("link" as const),
  at: path,
  content: part.map((name) => name.toString("latin1")),
  isExecutable: fc.constant(false)
})

type Change = "stays" | "removed" | "file" | "link" | "empty" | "moved"

const scenario = fc.record({
  base: fc.uniqueArray(fc.oneof({ weight: 5, arbitrary: write }, link), { selector: ({ at }) => at, maxLength: 6 }),
  given: fc.subarray([...attributes]),
  nested: fc.option(fc.constantFrom(...attributes)),
  submodules: fc.subarray(["sub", "dir/sub"]),
  changes: fc.array(fc.constantFrom<Change>("stays", "removed", "file", "link", "empty", "moved"), {
    minLength: 2,
    maxLength: 2
  }),
  added: fc.option(fc.constantFrom("new-sub", "dir/new-sub")),
  news: fc.array(fc.oneof({ weight: 5, arbitrary: write }, link), { maxLength: 5 }),
  edits: fc.array(
    fc.record({
      kind: fc.constantFrom("write" as const, "remove" as const, "folder" as const, "link" as const),
      of: fc.nat(),
      content: text,
      isExecutable: fc.boolean()
    }),
    { maxLength: 5 }
  )
})

const bytesOf = (root: string, at: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(at, "latin1")])

/** A text without what latin1 has no byte for. */
const latin1Of = (text: string): string =>
  [...text].map((one) => ((one.codePointAt(0) ?? 0) > 255 ? "x" : one)).join("")

/** Does what an agent may do, where the place allows it. */
const perform = (root: string, edit: Edit): void => {
  const target = bytesOf(root, edit.at)
  try {
    fs.mkdirSync(target.subarray(0, target.lastIndexOf(0x2f)), { recursive: true })
    const found = fs.lstatSync(target, { throwIfNoEntry: false })
    if (found?.isDirectory() === true) return
    if (found !== undefined) fs.rmSync(target)
    if (edit.kind === "folder") {
      fs.mkdirSync(target)
      fs.writeFileSync(Buffer.concat([target, Buffer.from("/in")]), "in\n")
    } else if (edit.kind === "link") fs.symlinkSync(Buffer.from(latin1Of(edit.content), "latin1"), target)
    else if (edit.kind === "write") {
      fs.writeFileSync(target, contentAt(edit.at, edit.content))
      fs.chmodSync(target, edit.isExecutable ? 0o755 : 0o644)
    }
  } catch (cause) {
    // A file stands where the path needs a folder.
    if (!(cause instanceof Error && "code" in cause && (cause.code === "ENOTDIR" || cause.code === "EEXIST")))
      throw cause
  }
}

const open = (cwd: string, ...args: ReadonlyArray<string>) => plainGit(cwd, "-c", "protocol.file.allow=always", ...args)

const changeSubmodule = (workTree: string, sub: string, at: string, change: Change): void => {
  const folder = join(workTree, at)
  if (change === "stays" || !fs.existsSync(folder)) return
  if (change === "moved") {
    plainGit(workTree, "clone", "--quiet", sub, at)
    plainGit(folder, "checkout", "--quiet", "HEAD^")
    return
  }
  fs.rmSync(folder, { recursive: true })
  if (change === "file") fs.writeFileSync(folder, "file\r\n")
  else if (change === "link") fs.symlinkSync("elsewhere", folder)
  else if (change === "empty") fs.mkdirSync(folder)
}

type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

/** The remote of all submodules, which no run changes. */
const subRemote = Effect.gen(function* () {
  const root = yield* temporary
  const sub = join(root, "sub-remote")
  plainGit(root, "init", "--quiet", "--initial-branch=main", sub)
  for (const content of ["1", "2"]) {
    put(sub, "s", content)
    plainGit(sub, "add", "--all")
    plainGit(sub, "commit", "--quiet", `--message=${content}`)
  }
  return sub
})

const bothTrees = (sub: string, { added, base, changes, edits, given, nested, news, submodules }: Scenario) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const url = join(root, "url")
    plainGit(root, "init", "--quiet", "--initial-branch=main", url)
    fs.writeFileSync(join(url, ".gitattributes"), given.join(""))
    if (nested !== null) put(url, "dir/.gitattributes", nested)
    for (const edit of base) perform(url, edit)
    for (const at of submodules)
      if (!fs.existsSync(join(url, at))) {
        fs.mkdirSync(join(url, "dir"), { recursive: true })
        open(url, "submodule", "add", "--quiet", sub, at)
      }
    plainGit(url, "add", "--all")
    plainGit(url, "commit", "--quiet", "--message=base")
    const [gitDir, workTree] = [join(root, "trusted"), join(root, "work")]
    const { commit } = yield* git.clone({ url, ref: "main", gitDir, workTree })
    for (const { content, isExecutable, kind, of } of edits) {
      const at = base[of % Math.max(base.length, 1)]?.at
      if (at !== undefined)
        perform(
          workTree,
          kind === "write" || kind === "link"
            ? { kind, at, content: content.replaceAll("\0", "x") || "x", isExecutable }
            : { kind, at }
        )
    }
    for (const edit of news) perform(workTree, edit)
    for (const [index, at] of ["sub", "dir/sub"].entries())
      changeSubmodule(workTree, sub, at, changes[index] ?? "stays")
    if (added !== null && !fs.existsSync(join(workTree, added))) {
      fs.mkdirSync(join(workTree, "dir"), { recursive: true })
      open(workTree, "submodule", "add", "--quiet", sub, added)
    }
    const first = yield* git.snapshot({ gitDir, workTree, base: commit })
    const again = yield* git.snapshot({ gitDir, workTree, base: commit })
    plainGit(workTree, "add", "--all")
    return { first, again, byHand: plainGit(workTree, "write-tree"), gitDir, workTree }
  })

it.scopedLive(
  `the tree of a capture is that of git add by hand, of ${stagedTrees} random workspaces`,
  () =>
    Effect.flatMap(subRemote, (sub) =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(scenario, (given) =>
            bothTrees(sub, given).pipe(
              Effect.tap(({ again, byHand, first, workTree }) => {
                const differing = () => plainGit(workTree, "status", "--short")
                assert.strictEqual(first.tree, byHand, `${first.diagnostics.join("\n")}\n${differing()}`)
                assert.strictEqual(again.tree, byHand)
              }),
              Effect.asVoid,
              Effect.scoped,
              Effect.provide(gitLayer),
              Effect.runPromise
            )
          ),
          { numRuns: stagedTrees, endOnFailure: true }
        )
      )
    ),
  60_000 + stagedTrees * 30_000
)
