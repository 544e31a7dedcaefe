import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { sealSubject } from "@reins/base/base/SealSubject"
import { ApprovalSubject } from "@reins/base/domain/ApprovalSubject"
import { newId, SessionId } from "@reins/base/domain/Ids"
import { agentPlaces, sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Files } from "@reins/machine/files/Files"
import { ToolCall } from "@reins/machine/harness/acp/AcpSchema"
import * as ToolRecord from "@reins/machine/harness/acp/ToolRecord"
import { approvalSubject } from "@reins/machine/subjects/ApprovalSubjects"
import type { FoundFile } from "@reins/machine/subjects/AskedFiles"
import { subjectFiles } from "@reins/machine/subjects/SubjectFiles"
import { type ApprovalKind, approvalRecordings } from "@reins/testing/harness/ApprovalRecordings"
import { Effect, Schema } from "effect"
import fc from "fast-check"

type Sent = Readonly<Record<string, unknown>>
type Tree = Readonly<Record<string, string | FoundFile>>

/** The call after all that the agent has sent about it. */
const folded = (...sent: ReadonlyArray<Sent>) =>
  sent
    .map((each) => Schema.decodeUnknownSync(ToolCall)({ toolCallId: "c1", ...each }))
    .reduce<ReturnType<typeof ToolRecord.merge> | undefined>(ToolRecord.mergeAsked, undefined)

const found = (file: string | FoundFile | undefined): FoundFile =>
  typeof file === "string" ? { is: "text", text: file } : (file ?? { is: "absent" })

/** The subject of a call in a working tree at `/w`. */
const subjectIn = (tree: Tree, ...sent: ReadonlyArray<Sent>): ApprovalSubject =>
  Effect.runSync(
    approvalSubject(folded(...sent), sent.at(-1), {
      roots: ["/reins/s/sess_1/workspace", "/w"],
      read: (path) => Effect.succeed(found(tree[path]))
    })
  )

const recorded = (agent: string, kind: ApprovalKind, tree: Tree = {}): ApprovalSubject => {
  const recording = approvalRecordings[agent]?.kinds[kind]
  if (recording?.origin !== "recorded") return assert.fail(`no recording of ${kind} by ${agent}`)
  const { after, before, toolCall } = recording
  return subjectIn(tree, ...before, toolCall, ...after)
}

const diff = (path: string, oldText: string | null, newText: string, more: object = {}) => ({
  type: "diff",
  path,
  oldText,
  newText,
  ...more
})

const edit = (...content: ReadonlyArray<object>): Sent => ({ kind: "edit", title: "Edit files", content })

/** A text with the edits of one file made. It fails where a text before does not stand at its line. */
const made = (before: string, edits: ApprovalSubject["edits"]): string =>
  edits.reduce((text, { line, new_text, old_text }) => {
    const lines = text.split(/(?<=\n)/)
    const at = lines.slice(0, (line ?? 0) - 1).join("").length
    assert.strictEqual(text.slice(at, at + (old_text ?? "").length), old_text ?? "")
    return text.slice(0, at) + (new_text ?? "") + text.slice(at + (old_text ?? "").length)
  }, before)

const ten = Array.from({ length: 10 }, (_, at) => `line ${at + 1}\n`).join("")

describe("the subject of an approval", () => {
  it("is complete for the calls of the agents that ask, as they were recorded", () => {
    const tree = { "src/a.ts": "let a = 1\nlet b = 2\n" }
    for (const agent of ["alpha", "beta", "claude"]) {
      const changed = recorded(agent, "edit", tree)
      assert.deepInclude(changed, { kind: "edit", complete: true, gaps: [], files: 1, additions: 1, deletions: 1 })
      assert.deepStrictEqual(changed.edits, [
        { path: "src/a.ts", old_text: "let a = 1\nlet b = 2\n", new_text: "let a = 2\nlet b = 2\n", line: 1 }
      ])
      assert.deepInclude(recorded(agent, "command"), { kind: "command", command: "npm test > out.txt", complete: true })
      const called = recorded(agent, "mcp")
      assert.deepInclude(called, { kind: "tool", complete: true })
      assert.match(called.tool ?? "", /tickets.*close/)
      assert.include(called.input, '"reason":"done"')
    }
    for (const agent of ["alpha", "claude"])
      assert.deepInclude(recorded(agent, "fetch"), { kind: "fetch", url: "https://example.com/page", complete: true })
  })

  it("is a new file, a file that is written anew, an empty one and a deletion", () => {
    for (const before of [null, ""])
      assert.deepStrictEqual(subjectIn({}, edit(diff("/w/money.js", before, "one\ntwo\n"))).edits, [
        { path: "money.js", old_text: null, new_text: "one\ntwo\n", line: 1 }
      ])
    const anew = subjectIn({ "a.txt": ten }, edit(diff("/w/a.txt", null, `${ten}more\n`)))
    assert.deepInclude(anew, { complete: true, additions: 1, deletions: 0 })
    assert.deepStrictEqual(anew.edits[0], {
      path: "a.txt",
      old_text: "line 8\nline 9\nline 10\n",
      new_text: "line 8\nline 9\nline 10\nmore\n",
      line: 8
    })
    assert.isTrue(subjectIn({ "a.txt": "" }, edit(diff("/w/a.txt", "", "x"))).complete)
    const gone = subjectIn({ "a.txt": ten }, edit(diff("/w/a.txt", ten, "", { _meta: { kind: "delete" } })))
    assert.deepInclude(gone, { complete: true, additions: 0, deletions: 10 })
    assert.deepStrictEqual(gone.edits, [{ path: "a.txt", old_text: ten, new_text: null, line: 1 }])
  })

  it("has the place of a bare string with three lines around it, and all places where all are replaced", () => {
    const one = subjectIn({ "a.txt": ten }, edit(diff("/w/a.txt", "line 5", "LINE 5")))
    assert.deepStrictEqual(one.edits, [
      {
        path: "a.txt",
        old_text: "line 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n",
        new_text: "line 2\nline 3\nline 4\nLINE 5\nline 6\nline 7\nline 8\n",
        line: 2
      }
    ])
    const far = `${"x\n".repeat(20)}old\n${"y\n".repeat(20)}old\nold\n${"z\n".repeat(20)}`
    const call = { ...edit(diff("/w/a.txt", "old", "new\nnewer")), rawInput: { replace_all: true } }
    const all = subjectIn({ "a.txt": far }, call)
    assert.deepInclude(all, { complete: true, additions: 6, deletions: 3, files: 1 })
    assert.deepStrictEqual(
      all.edits.map(({ line }) => line),
      [18, 40]
    )
    assert.strictEqual(made(far, all.edits), far.replaceAll("old", "new\nnewer"))
    const twice = subjectIn({ "a.txt": far }, edit(diff("/w/a.txt", "old", "new")))
    assert.deepInclude(twice, { complete: false, gaps: ["unplaced"] })
  })

  it("is made of an input that tells the change alone, and not of one that says more", () => {
    const tree = { "a.txt": ten }
    const write = { kind: "edit", title: "Write", rawInput: { path: "/w/a.txt", content: `${ten}more\n` } }
    assert.deepInclude(subjectIn(tree, write), { complete: true, additions: 1, deletions: 0, input: null })
    const input = { path: "/w/a.txt", old_text: "line 5", new_text: "LINE 5" }
    const replace = { kind: "edit", title: "Edit", rawInput: input }
    assert.deepInclude(subjectIn(tree, replace), { complete: true, additions: 1, deletions: 1 })
    const more = { kind: "edit", title: "Edit", rawInput: { ...input, after_that: "run it" } }
    assert.deepInclude(subjectIn(tree, more), { complete: false, gaps: ["unknown"], edits: [] })
    assert.include(subjectIn(tree, more).input, "run it")
    assert.deepInclude(recorded("cline", "edit", { "src/a.ts": "let a = 1\nlet b = 2\n" }), {
      complete: true,
      additions: 1
    })
  })

  it("tells the ends of lines of a file that agents tell in another way", () => {
    const subject = subjectIn(
      { "a.txt": "one\r\ntwo\r\nthree\r\n" },
      edit(diff("/w/a.txt", "one\ntwo\n", "one\nTWO\n"))
    )
    assert.isTrue(subject.complete)
    assert.strictEqual(subject.edits[0]?.new_text, "one\r\nTWO\r\nthree\r\n")
  })

  it("has twelve files, several changes of one, and what goes beyond two hundred is left out and said", () => {
    const paths = Array.from({ length: 12 }, (_, at) => `f${at}.txt`)
    const tree = Object.fromEntries(paths.map((path) => [path, ten]))
    const twelve = subjectIn(tree, edit(...paths.map((path) => diff(`/w/${path}`, "line 5", "five"))))
    assert.deepInclude(twelve, { complete: true, files: 12, additions: 12, deletions: 12 })
    const two = [diff("/w/f0.txt", "line 1\n", "one\nand\n"), diff("/w/f0.txt", "line 9\n", "nine\n")]
    const several = subjectIn(tree, edit(...two))
    assert.deepInclude(several, { complete: true, files: 1 })
    assert.strictEqual(made(ten, several.edits), ten.replace("line 1\n", "one\nand\n").replace("line 9", "nine"))
    const many = Array.from({ length: 230 }, (_, at) => diff(`/w/n${at}.txt`, null, "new\n"))
    const beyond = subjectIn({}, edit(...many))
    assert.deepInclude(beyond, { complete: false, files: 230, additions: 230 })
    assert.include(beyond.gaps, "cut")
    assert.lengthOf(beyond.edits, 200)
  })

  it.each<[string, Tree, Sent | undefined, ReadonlyArray<string>]>([
    ["a call of which nothing is known", {}, undefined, ["unknown"]],
    ["an edit without a side", {}, { kind: "edit", title: "Edit files" }, ["unknown"]],
    ["a command without words", {}, { kind: "execute", title: "Run", rawInput: {} }, ["unknown"]],
    ["a fetch without an address", {}, { kind: "fetch", title: "Fetch", rawInput: { prompt: "x" } }, ["unknown"]],
    ["a tool without its input", {}, { kind: "other", title: "tickets_close", rawInput: {} }, ["unknown"]],
    ["an unknown kind", {}, { kind: "frobnicate", title: "x", rawInput: { a: 1 } }, ["unknown"]],
    ["a path out of the files", {}, edit(diff("/w/../etc/x", null, "x")), ["outside"]],
    ["a sister of the files", {}, edit(diff("/w-other/x", null, "x")), ["outside"]],
    ["a path through a link", { x: { is: "outside" } }, edit(diff("/w/x", null, "x")), ["outside"]],
    ["a file that cannot be read", { x: { is: "unread" } }, edit(diff("/w/x", "a", "b")), ["unplaced"]],
    ["a text that is not there", { x: "other" }, edit(diff("/w/x", "a", "b")), ["unplaced"]],
    ["a file that is not there", {}, edit(diff("/w/x", "a", "b")), ["unplaced"]],
    ["300 kB", {}, edit(diff("/w/x", null, "x".repeat(300_000))), ["cut"]],
    ["a reading out of the files", {}, { kind: "read", title: "x", rawInput: { path: "/etc/passwd" } }, ["outside"]],
    [
      "a file that is named beside the edits",
      {},
      { ...edit(diff("/w/x", null, "x")), locations: [{ path: "/w/y" }] },
      ["unknown"]
    ],
    [
      "a command under a blank",
      {},
      {
        kind: "execute",
        title: "x",
        rawInput: { command: "true -----BEGIN PRIVATE KEY-----; rm -rf ~; -----END PRIVATE KEY-----" }
      },
      ["masked"]
    ]
  ])("is never complete for %s", (_, tree, sent, gaps) => {
    const subject = sent === undefined ? subjectIn(tree) : subjectIn(tree, sent)
    assert.isFalse(subject.complete)
    assert.deepStrictEqual(subject.gaps, gaps)
  })

  it("says all that an input has, and blanks secrets in it", () => {
    const input = { command: ["bash", "-lc", "npm test"], cwd: "/w/packages/a", env: { A: "1" } }
    const command = subjectIn({}, { kind: "execute", title: "Run", rawInput: input })
    assert.deepInclude(command, { command: "npm test", cwd: "packages/a", input: '{"env":{"A":"1"}}', complete: true })
    const token = `ghp_${"a1".repeat(20)}`
    const masked = subjectIn({}, { kind: "execute", title: "Run", rawInput: { command: `curl -H ${token} x` } })
    assert.deepInclude(masked, { command: "curl -H [secret] x", complete: false, gaps: ["masked"] })
    assert.notInclude(JSON.stringify(masked), token)
    const look = { kind: "read", title: "Read", rawInput: { file_path: "/w/src/a.ts" } }
    assert.deepInclude(subjectIn({}, look), { kind: "read", input: '{"file_path":"src/a.ts"}', complete: true })
    const child = { kind: "think", title: "Task", rawInput: { subagent_type: "explore", prompt: "Look." } }
    assert.deepInclude(subjectIn({}, child), { kind: "delegate", complete: true })
  })

  it("has a digest of the whole, which also tells what is cut", () => {
    const long = (end: string) => subjectIn({}, edit(diff("/w/x", null, "x".repeat(300_000) + end)))
    assert.notStrictEqual(long("a").digest, long("b").digest)
    assert.deepStrictEqual({ ...long("a"), digest: "" }, { ...long("b"), digest: "" })
    assert.strictEqual(long("a").digest, long("a").digest)
  })

  it("tells a change anywhere in a file by hunks that make it", () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "\n", "long line\n")
    const text = fc
      .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom("", "end"))
      .map(([lines, end]) => lines.join("") + end)
    fc.assert(
      fc.property(text, text, fc.nat(), fc.nat(), fc.boolean(), (file, instead, from, length, isEverywhere) => {
        const start = from % (file.length + 1)
        const part = file.slice(start, start + 1 + (length % 20))
        fc.pre(part !== "")
        const call = { ...edit(diff("/w/f", part, instead)), rawInput: { replace_all: isEverywhere } }
        const subject = subjectIn({ f: file }, call)
        const isUnique = file.indexOf(part) === file.lastIndexOf(part)
        assert.strictEqual(subject.complete, isEverywhere || isUnique || part === file)
        if (!subject.complete) return
        const after =
          isEverywhere && part !== file ? file.replaceAll(part, () => instead) : file.replace(part, () => instead)
        assert.strictEqual(made(file, subject.edits), after)
        const whole = subjectIn({ f: file }, edit(diff("/w/f", file, after)))
        assert.strictEqual(made(file, whole.edits), after)
      })
    )
  })

  it("is bounded for any call, and one that shows nothing is not complete", () => {
    const is = Schema.is(ApprovalSubject)
    const kind = fc.constantFrom("execute", "edit", "read", "fetch", "search", "other", "think", "x")
    fc.assert(
      fc.property(kind, fc.anything(), fc.anything(), fc.anything(), (kind, rawInput, content, locations) => {
        const subject = subjectIn({}, { kind, title: "Do it", rawInput, content, locations })
        assert.isTrue(is(subject))
        assert.strictEqual(subject.complete, subject.gaps.length === 0)
        const { command, edits, input, url } = subject
        if (command === null && url === null && edits.length === 0 && input === null) assert.isFalse(subject.complete)
      })
    )
    const edits = Array.from({ length: 50 }, (_, at) => ({
      path: `f${at}`,
      old_text: null,
      new_text: "x".repeat(60_000),
      line: 1
    }))
    const large = sealSubject({ kind: "edit", command: "y".repeat(70_000), edits })
    assert.isBelow(JSON.stringify(large).length, 300_000)
    assert.deepInclude(large, { complete: false, gaps: ["cut"], files: 50, additions: 50 })
  })
})

it.scopedLive("the files of a session are read where they are, and links lead out of them", () =>
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "reins-subject-"))),
      (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
    )
    const session = yield* newId(SessionId)
    const real = join(root, "real")
    const { workTree } = sessionPaths(real, session)
    yield* Effect.promise(async () => {
      await mkdir(join(workTree, "src"), { recursive: true })
      await symlink(real, join(root, "data"))
      await writeFile(join(workTree, "src/a.ts"), "let a = 1\n")
      await writeFile(join(workTree, "src/b.bin"), Buffer.from([0xff, 0xfe, 0x00]))
      await symlink(dirname(root), join(workTree, "out"))
      await symlink("/nowhere", join(workTree, "dangling"))
    })
    const above = join(root, "data")
    const filesOf = yield* subjectFiles
    const files = yield* filesOf({
      above,
      workTree: sessionPaths(above, session).workTree,
      sandboxed: agentPlaces(session).workspaceDir
    })
    const of = (path: string, oldText: string | null) =>
      approvalSubject(folded(edit(diff(path, oldText, "new\n"))), null, files)
    for (const top of files.roots) {
      const subject = yield* of(`${top}/src/a.ts`, "let a = 1\n")
      assert.deepInclude(subject, { complete: true, files: 1 })
      assert.strictEqual(subject.edits[0]?.path, "src/a.ts")
    }
    // The real place, the one that a link leads to, and the place in a sandbox.
    assert.lengthOf(files.roots, 3)
    const gapsOf = (path: string) => Effect.map(of(join(workTree, path), null), ({ gaps }) => gaps)
    assert.deepStrictEqual(yield* gapsOf("new/file.ts"), [])
    for (const path of ["out/file.ts", "dangling", ".git/config"])
      assert.deepStrictEqual(yield* gapsOf(path), ["outside"], path)
    assert.deepStrictEqual(yield* gapsOf("src/b.bin"), ["unplaced"])
  }).pipe(Effect.provide(Files.layer))
)
