import { assert, describe, it } from "@effect/vitest"
import { bounded } from "@reins/base/base/ForeignText"
import { refusalBy, rejectionBy } from "@reins/machine/repository/remote/Refusals"
import { parseRemoteRefs } from "@reins/machine/repository/remote/RemoteRefs"
import { classify, type GitError, type GitErrorKind, scrub } from "@reins/machine/repository/run/GitError"
import { bareRemote, branchHead, cloned, gitLayer, put } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import type { Change } from "@reins/testing/world/Answer"
import { openBetween } from "@reins/testing/world/Between"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer } from "@reins/testing/world/Changes"
import { inJson } from "@reins/testing/world/Speaker"
import { Effect, Either } from "effect"

/** A sentence for people. */
const isSentence = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  text !== "" && text.length <= 3000 && !/[\u0000-\u001f\u202e]/.test(text)

const edited = (name: string, kind: Change["kind"], edit: (text: string) => string): Change => ({
  name,
  kind,
  apply: (answer) => ({ ...answer, text: edit(answer.text) })
})

const id = (digit: string) => digit.repeat(40)
const alphabets = ["名前", "ÄÖÜ", "имя", "اسم", "🙂", "e\u0301", "\u00e9", "a.b", "work/名前/x"]
const names = ["main", "odd", ...alphabets].map((name) => `refs/heads/${name}`)
const plain = [
  "ref: refs/heads/main\tHEAD",
  `${id("1")}\tHEAD`,
  ...names.map((name) => `${id("1")}\t${name}`),
  ""
].join("\n")

const ofLine = (name: string, line: string): Change =>
  edited(name, "element", (text) => text.replace(`${id("1")}\trefs/heads/odd`, line))

const ofRefs: ReadonlyArray<Change> = [
  edited("in another order", "same", (text) => `${text.trim().split("\n").toReversed().join("\n")}\n`),
  edited("each line twice", "same", (text) => text + text),
  edited("without its last line end", "same", (text) => text.trimEnd()),
  edited("with empty lines", "same", (text) => text.replaceAll("\n", "\n\n")),
  edited(
    "with 10,000 more",
    "same",
    (text) => text + Array.from({ length: 10_000 }, (_, at) => `${id("2")}\trefs/heads/more/${at}\n`).join("")
  ),
  edited(
    "with refs of other kinds",
    "same",
    (text) => `${text}${id("3")}\trefs/pull/1/head\n${id("3")}\trefs/tags/v1^{}\n`
  ),
  edited("a page of HTML", "lost", () => "<html><title>Sign in</title></html>"),
  edited("ids of SHA-256", "lost", (text) => text.replaceAll(id("1"), "1".repeat(64))),
  ofLine("an id of capitals", `${"A".repeat(40)}\trefs/heads/odd`),
  ofLine("an id that is cut", `${"1".repeat(39)}\trefs/heads/odd`),
  ofLine("no id", "\trefs/heads/odd"),
  ofLine("no name", `${id("1")}\t`),
  ofLine("a blank in the place of the tab", `${id("1")} refs/heads/odd`),
  ofLine("a name of no place", `${id("1")}\todd`),
  ofLine("a warning", "warning: \u001b[31mslow\u202e"),
  ofLine("a carriage return", `${id("1")}\trefs/heads/odd\r`),
  ofLine("a name of 100,000 characters", `${id("1")}\trefs/heads/${"a.".repeat(50_000)}`),
  ofLine("a null", "null")
]

/** Refusals of servers, as their words come to git. */
const refusals: ReadonlyArray<readonly [words: string, kind: GitErrorKind]> = [
  ["error: GH001: Large files detected.", "too_large"],
  ["error: GH006: Protected branch update failed for refs/heads/main.", "branch_protected"],
  ["error: GH009: Secrets detected! This push failed.", "secret_found"],
  ["error: GH007: Your push would publish a private email address.", "email_private"],
  ["error: GH013: Repository rule violations found for refs/heads/main.", "rule_violated"],
  ["GitLab: You are not allowed to push code to protected branches on this project.", "branch_protected"],
  ["GitLab: This deploy key does not have write access to this project.", "scope_missing"],
  ["Forgejo: Quota exceeded", "quota_exceeded"],
  ["Gitea: Not allowed to push to protected branch main", "branch_protected"]
]

const ofWords: ReadonlyArray<Change> = [
  edited("as they are", "same", (text) => text),
  edited("in capitals", "same", (text) => text.replace(/(?<=GH\d+: ).*|^[^:]*$/, (rest) => rest.toUpperCase())),
  edited("in colours", "same", (text) => `\u001b[31m${text}\u001b[0m`),
  edited("in a frame", "same", (text) => `=======\n\n${text}\n\n=======`),
  edited("twice", "same", (text) => `${text}\n${text}`),
  edited("with carriage returns", "same", (text) => `${text}\r\n`),
  edited("between words of all alphabets", "same", (text) => `名前 имя اسم 🙂\n${text}\nÄÖÜ`),
  edited(
    "below progress",
    "same",
    (text) => `Resolving deltas:  50% (1/2)\rResolving deltas: 100% (2/2), done.\n${text}`
  ),
  edited("below a warning of another thing", "same", (text) => `warning: GH001: Large files detected.\n${text}`),
  edited("with turned characters", "same", (text) => `${text}\u202egnihsilbup\u202c\u0007`),
  edited("above 1,000 lines", "same", (text) => `${text}\n${"https://git.example/a/b/c\n".repeat(1000)}`),
  edited("with a NUL", "same", (text) => `${text}\u0000`),
  edited("nothing", "lost", () => ""),
  edited("other words", "lost", () => "Nobody has seen this before.")
]

describe("the world of git servers", () => {
  it.effect("the refs that they advertise", () =>
    Effect.gen(function* () {
      const { tried, wrong } = yield* tryBorder({
        name: "git servers: the refs",
        changes: ofRefs,
        ask: (change) =>
          Effect.gen(function* () {
            const { text } = change.apply({ ...inJson, text: plain })
            const found = yield* Effect.either(parseRemoteRefs(Buffer.from(text).toString("latin1")))
            if (Either.isLeft(found)) {
              const { message } = found.left
              if (change.kind === "same") return [`one costs all: ${message}`]
              return isSentence(message) ? [] : [`no sentence: ${message.slice(0, 200)}`]
            }
            if (change.kind === "lost") return ["nothing was told, and something was read"]
            const { names: read } = found.right
            const problems = names
              .filter((name) => name !== "refs/heads/odd" && !read.has(name))
              .map((name) => `${name} is lost`)
            if (change.kind === "same" && !read.has("refs/heads/odd")) problems.push("the truth is lost")
            return problems
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 15)
    })
  )

  it.effect("the words with which they refuse", () =>
    Effect.gen(function* () {
      const all = refusals.flatMap(([words, kind]) => ofWords.map((change) => ({ words, kind, change })))
      const { tried, wrong } = yield* tryBorder({
        name: "git servers: the words of refusals",
        changes: all.map(({ change, words }, at): Change => ({ ...change, name: `${at}: ${change.name}: ${words}` })),
        ask: (change) =>
          Effect.sync(() => {
            const { kind, words } = all[Number.parseInt(change.name, 10)] ?? assert.fail(change.name)
            const { text } = change.apply({ ...inJson, text: words })
            const stderr = scrub(
              text
                .split("\n")
                .map((line) => `remote: ${line}`)
                .join("\n")
            )
            const byHook = rejectionBy("pre-receive hook declined", stderr, true)
            const ofCall = refusalBy(stderr, true)
            const byGit = classify("push", bounded(text, 64 * 1024))
            const problems = [byHook, ofCall, byGit].flatMap((error) =>
              error === undefined || isSentence(error.message) ? [] : [`no sentence: ${error.message.slice(0, 200)}`]
            )
            if (change.kind === "same" && byHook.kind !== kind) problems.push(`it is ${byHook.kind}`)
            if (change.kind === "same" && ofCall?.kind !== kind) problems.push(`of a call it is ${ofCall?.kind}`)
            if (change.kind === "lost" && byHook.kind !== "rule_violated") problems.push(`it is ${byHook.kind}`)
            return problems
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 100)
    })
  )

  it.scopedLive("their answers over HTTP", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, url: bare } = yield* cloned({ "a.txt": "one\n" })
      put(bare, "config", "[core]\n\tbare = true\n[http]\n\treceivepack = true\n")
      let count = 0
      const server = yield* gitHttpServer(root, null)
      const between = yield* openBetween(server.url, ({ path }) => path.includes("/info/refs"))
      const url = `${between.url}/remote.git`
      // The lists of git have a form of their own, and no character set.
      const changes = changesOfAnswer([]).filter(
        ({ name }) => !/list|order|twice|null|type|spaces|order mark/.test(name)
      )
      const { tried, wrong } = yield* tryBorder({
        name: "git servers: the answers over HTTP",
        changes: tenthOf(changes),
        ask: (change) =>
          Effect.gen(function* () {
            Object.assign(between, { change, picked: 0, fault: undefined })
            const found = yield* Effect.either(
              git.push({
                gitDir,
                url,
                commit: base ?? assert.fail("there is no commit"),
                branch: `world-${count++}`,
                expectedHead: null,
                strategy: "fast_forward"
              })
            )
            if (between.picked === 0) return yield* Effect.dieMessage("the server was not asked")
            if (Either.isRight(found)) return change.kind === "lost" ? ["it counts as pushed"] : []
            const { message } = found.left
            const problems = isSentence(message) ? [] : [`no sentence: ${message.slice(0, 200)}`]
            if (change.kind !== "lost") problems.push(`one costs all: ${message}`)
            return problems
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 0)
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("branches with names of all alphabets", () =>
    Effect.gen(function* () {
      const { base, git, gitDir, root, workTree } = yield* cloned({ "a.txt": "one\n" })
      const url = bareRemote(`${root}/named`, { "a.txt": "one\n" })
      put(workTree, "a.txt", "two\n")
      const { commit } = yield* git.snapshot({ gitDir, workTree, base })
      for (const branch of alphabets.filter((name) => !name.includes("/")))
        yield* git
          .push({ gitDir, url, commit, branch, expectedHead: null, strategy: "force_with_lease" })
          .pipe(Effect.catchAll((error: GitError) => Effect.dieMessage(`${branch}: ${error.message}`)))
      for (const branch of alphabets.filter((name) => !name.includes("/")))
        assert.strictEqual(branchHead(url, branch), commit, branch)
    }).pipe(Effect.provide(gitLayer))
  )
})
