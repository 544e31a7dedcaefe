import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it, layer } from "@effect/vitest"
import { maxUploadBytes } from "@reins/core/api/SessionsApi"
import * as Core from "@reins/core/Core"
import { Changesets } from "@reins/core/changes/Changesets"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Accounts } from "@reins/core/identity/Accounts"
import { Workspaces } from "@reins/core/sessions/Workspaces"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { Caller, change, codeOf, type Reply, send, service } from "./Service.js"
import { newSession } from "./Sessions.js"

const canary = "canary-Kp3wV8xQ2zR6tY1m"

/** One session with a workspace, a changeset of it, and a secret beside it that nobody may reach. */
class Target extends Context.Tag("@reins/server/test/Target")<
  Target,
  {
    readonly root: string
    readonly outside: string
    readonly files: string
    readonly content: string
    readonly upload: string
    readonly changeset: string
  }
>() {
  static readonly layer = Layer.effect(
    Target,
    Effect.gen(function* () {
      const { sessionId } = yield* newSession
      const { bearer: headers } = yield* Caller
      const session = `/api/sessions/${sessionId}`
      const upload = `${session}/file-uploads`
      const put = yield* change("POST", upload, { headers, body: { path: "dir/inside.txt", content: "inside" } })
      assert.strictEqual(put.status, 200, put.text)
      const captured = yield* change("POST", `${session}/changesets`, { headers, body: {} })
      const { changeset } = yield* Schema.decodeUnknown(
        Schema.Struct({ changeset: Schema.Struct({ id: Schema.String }) })
      )(captured.json)
      const changesets = yield* Changesets
      yield* Effect.provide(
        (yield* EventFeed).stream(yield* principal, sessionId, { after: 0 }).pipe(
          Stream.takeUntil((event) => event.type === "changeset.ready"),
          Stream.runDrain
        ),
        Core.worker
      )
      assert.strictEqual((yield* changesets.get(yield* principal, changeset.id)).state, "ready")
      const root = (yield* Workspaces).paths(sessionId).workTree
      const outside = join(root, "..", "outside")
      fs.mkdirSync(outside)
      fs.writeFileSync(join(outside, "secret"), canary)
      return Target.of({
        root,
        outside,
        files: `${session}/files`,
        content: `${session}/files/content`,
        upload,
        changeset: `/api/changesets/${changeset.id}/files`
      })
    }).pipe(Effect.orDie)
  )
}

const principal = Effect.gen(function* () {
  const { email } = yield* Caller
  const account = yield* (yield* Accounts).get(email)
  return { accountId: account.id, scopes: ["admin" as const], workspaceId: null, via: { kind: "embedded" as const } }
})

/** Spellings of "up", of a repository's directory and of places elsewhere, each put into several shapes. */
const hostilePaths: ReadonlyArray<string> = (() => {
  const ups = [
    "..",
    "../..",
    "./..",
    ".../..",
    "..\\..",
    "..%2f..",
    "%2e%2e",
    "%252e%252e",
    "..;",
    "..\0",
    "..\u2215..",
    "..\uff0f..",
    "\uff0e\uff0e",
    "..\u2216",
    "..%c0%af..",
    "..%00",
    "..\n",
    "..\t",
    ".. ",
    ". .",
    "dir/..",
    "dir/../..",
    "dir/./../..",
    "dir//..",
    "dir/inside.txt/..",
    "..\u200b",
    "..\u202e",
    "~",
    "$HOME",
    "\ud800.."
  ]
  const targets = ["outside/secret", "outside", "etc/passwd", "workspace/dir/inside.txt", "trusted.git/HEAD", ""]
  const climbing = ups.flatMap((up) => targets.map((target) => (target === "" ? up : `${up}/${target}`)))
  const absolute = [
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "\\\\server\\share",
    "//server/share",
    "\\\\?\\C:\\",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "/",
    "//",
    "\\",
    "/.",
    "/.."
  ]
  const gits = [
    ".git",
    ".GIT",
    ".Git",
    "git~1",
    "GIT~1",
    ".git.",
    ".git ",
    ".git::$INDEX_ALLOCATION",
    ".g\u200cit",
    "\ufeff.git",
    ".ｇｉｔ",
    ".git\n"
  ]
  const inGit = ["", "/config", "/HEAD", "/hooks/post-checkout", "/objects", "/../.git/config"]
  const repositories = gits.flatMap((git) => inGit.flatMap((file) => [`${git}${file}`, `dir/${git}${file}`]))
  const strange = [
    ".",
    "./",
    "./.",
    "a//b",
    "a/",
    "a\0b",
    "\0",
    "dir/inside.txt\0.png",
    "dir/inside.txt/",
    "dir/inside.txt/x",
    "x".repeat(256),
    `dir/${"é".repeat(128)}`,
    "a/".repeat(2100),
    `${"x/".repeat(500)}x`,
    "\ud800",
    "\udfff/x",
    "-rf",
    "--help",
    "--output=x",
    ":(glob)**",
    ":/",
    ":!dir",
    "HEAD",
    "*",
    "?",
    "[a-z]",
    "dir/*",
    "con",
    "nul",
    "aux.txt",
    "com1",
    "dir/inside.txt:stream",
    "dir/inside.txt::$DATA",
    "link",
    "link/secret",
    "link-file",
    "dangling",
    "loop",
    "loop/x",
    "hard",
    "fifo",
    "socket",
    "dir/link/secret"
  ]
  const wrapped = [...climbing.slice(0, 120)].flatMap((path) => [encodeURIComponent(wellFormed(path)), `dir/${path}`])
  return [...new Set([...climbing, ...absolute, ...repositories, ...strange, ...wrapped])].filter((path) => path !== "")
})()

function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

/** Links, pipes and sockets as an agent could leave them. */
const plant = ({ outside, root }: { readonly root: string; readonly outside: string }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      fs.symlinkSync("../outside", join(root, "link"))
      fs.symlinkSync("../../outside", join(root, "dir/link"))
      fs.symlinkSync("../outside/secret", join(root, "link-file"))
      fs.symlinkSync("nowhere", join(root, "dangling"))
      fs.symlinkSync("loop", join(root, "loop"))
      fs.linkSync(join(outside, "secret"), join(root, "hard"))
      execFileSync("mkfifo", [join(root, "fifo")])
      const listener = createServer()
      // The path of a socket is short by law; from inside the directory it is.
      await new Promise<void>((resolve) => void listener.listen(relativeTo(join(root, "socket")), resolve))
      return listener
    }),
    (listener) => Effect.sync(() => listener.close())
  )

const relativeTo = (path: string): string => {
  const short = join(fs.mkdtempSync("/tmp/s-"), "d")
  fs.symlinkSync(join(path, ".."), short)
  return join(short, "socket")
}

const allowed: ReadonlySet<number> = new Set([200, 404, 409, 413, 422])

const assertHarmless = (reply: Reply, what: string) => {
  assert.isTrue(allowed.has(reply.status), `${what}: ${reply.status} ${reply.text.slice(0, 200)}`)
  assert.notInclude(reply.text, canary, what)
  assert.notInclude(reply.text, Buffer.from(canary).toString("base64").slice(0, 20), what)
  assert.notInclude(reply.text, createHash("sha256").update(canary).digest("hex"), what)
  assert.notInclude(reply.text, "root:x:0", what)
}

/** Everything outside the workspace that the session has on disk, by name and content. */
const fingerprint = (outside: string): string =>
  JSON.stringify([
    fs.readdirSync(join(outside, "..")).sort(),
    fs.readdirSync(outside).map((name) => [name, fs.readFileSync(join(outside, name), "utf8")])
  ])

const raceSeconds = Number(process.env["REINS_RACE_SECONDS"] ?? "5")

const swapper = `
const fs = require("node:fs")
const { parentPort, workerData: { root } } = require("node:worker_threads")
fs.mkdirSync(root + "/race", { recursive: true })
fs.writeFileSync(root + "/race/secret", "inside")
parentPort.postMessage("started")
for (;;) {
  try { fs.renameSync(root + "/race", root + "/away"); fs.symlinkSync("../outside", root + "/race"); fs.unlinkSync(root + "/race"); fs.renameSync(root + "/away", root + "/race") }
  catch { try { fs.rmSync(root + "/race", { recursive: true, force: true }); fs.renameSync(root + "/away", root + "/race") } catch {} }
}
`

const withTarget = Target.layer.pipe(Layer.provideMerge(service()))

layer(withTarget, { excludeTestServices: true, timeout: "60 seconds" })("files over HTTP", (it) => {
  it.effect("an upload is answered with what can be listed and read again", () =>
    Effect.gen(function* () {
      const { bearer: headers } = yield* Caller
      const target = yield* Target
      const body = { path: "src/a.bin", content: "AP8=", encoding: "base64", mode: "0755", expected_digest: "absent" }
      const digest = `sha256:${createHash("sha256")
        .update(Buffer.from([0, 255]))
        .digest("hex")}`
      const put = yield* change("POST", target.upload, { headers, body })
      assert.deepStrictEqual([put.status, put.json], [200, { file: { path: "src/a.bin", size: 2, digest } }])
      const read = yield* send("GET", `${target.content}?path=src/a.bin`, { headers })
      assert.deepStrictEqual(read.json, {
        path: "src/a.bin",
        encoding: "base64",
        content: "AP8=",
        size: 2,
        digest,
        truncated: false
      })
      const List = Schema.Struct({ items: Schema.Array(Schema.Struct({ name: Schema.String, mode: Schema.String })) })
      const listed = yield* Schema.decodeUnknown(List)(
        (yield* send("GET", `${target.files}?path=src`, { headers })).json
      )
      assert.deepStrictEqual(listed.items, [{ name: "a.bin", mode: "0755" }])
      const root = yield* Schema.decodeUnknown(List)((yield* send("GET", target.files, { headers })).json)
      assert.includeMembers(
        root.items.map((item) => item.name),
        ["dir", "src"]
      )
      const other = yield* change("POST", target.upload, { headers, body: { ...body, content: "AAAA" } })
      assert.deepStrictEqual([other.status, codeOf(other)], [409, "version_conflict"])
      assert.include(other.text, digest)
      assert.strictEqual((yield* send("GET", target.content, { headers })).status, 422)
    })
  )

  it.effect("an upload with its key again is answered the same and writes nothing new", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const target = yield* Target
      const headers = { ...bearer, "idempotency-key": "upload-once" }
      const body = { path: "once.txt", content: "one" }
      const first = yield* send("POST", target.upload, { headers, body })
      fs.writeFileSync(join(target.root, "once.txt"), "the agent has changed it")
      const again = yield* send("POST", target.upload, { headers, body })
      assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(fs.readFileSync(join(target.root, "once.txt"), "utf8"), "the agent has changed it")
    })
  )

  it.effect("a file of 25 MiB is taken and one byte more is not, here alone", () =>
    Effect.gen(function* () {
      const { bearer: headers } = yield* Caller
      const target = yield* Target
      const content = Buffer.alloc(maxUploadBytes, 7).toString("base64")
      const put = yield* change("POST", target.upload, {
        headers,
        body: { path: "large", content, encoding: "base64" }
      })
      assert.strictEqual(put.status, 200, put.text.slice(0, 300))
      assert.strictEqual(fs.statSync(join(target.root, "large")).size, maxUploadBytes)
      const read = yield* send("GET", `${target.content}?path=large`, { headers })
      const decoded = yield* Schema.decodeUnknown(Schema.Struct({ truncated: Schema.Boolean, size: Schema.Int }))(
        read.json
      )
      assert.deepStrictEqual(decoded, { truncated: true, size: maxUploadBytes })
      const more = Buffer.alloc(maxUploadBytes + 1, 7).toString("base64")
      const body = { path: "larger", content: more, encoding: "base64" }
      const refused = yield* change("POST", target.upload, { headers, body })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [413, "payload_too_large"])
      assert.isFalse(fs.existsSync(join(target.root, "larger")))
      const elsewhere = yield* change("POST", target.upload.replace("file-uploads", "messages"), {
        headers,
        body: { content: "x".repeat(1024 * 1024) }
      })
      assert.deepStrictEqual([elsewhere.status, codeOf(elsewhere)], [413, "payload_too_large"])
    })
  )

  it.scoped(
    "no spelling of a path leads out of the workspace, into a repository or to an error of the service",
    () =>
      Effect.gen(function* () {
        const { bearer: headers } = yield* Caller
        const target = yield* Target
        yield* plant(target)
        assert.isAtLeast(hostilePaths.length, 500)
        const before = fingerprint(target.outside)
        const one = Effect.fnUntraced(function* (path: string) {
          const query = `?path=${encodeURIComponent(wellFormed(path))}`
          const digest = { expected_digest: `sha256:${"0".repeat(64)}` }
          const replies = yield* Effect.all([
            send("GET", target.files + query, { headers }),
            send("GET", target.content + query, { headers }),
            send("GET", target.changeset + query, { headers }),
            // As it stands, and not decoded by anybody before it is sent.
            send("GET", `${target.content}?path=${path.replace(/[^!-~]|[#&+]/g, "")}`, { headers }),
            change("POST", target.upload, { headers, body: { path, content: "W", ...digest } }),
            change("POST", target.upload, { headers, body: { path, content: "W" } })
          ])
          for (const reply of replies) assertHarmless(reply, JSON.stringify(path).slice(0, 100))
        })
        yield* Effect.forEach(hostilePaths, one, { concurrency: 8, discard: true }).pipe(Effect.timeout("240 seconds"))
        assert.strictEqual(fingerprint(target.outside), before)
        // What cannot be opened for reading is refused at once rather than waited for.
        for (const path of ["/dev/zero", "fifo", "socket"]) {
          const reply = yield* send("GET", `${target.content}?path=${encodeURIComponent(path)}`, { headers })
          assert.include([404, 422, 200], reply.status)
        }
      }),
    300_000
  )

  it.scoped(
    "a directory that is exchanged with a link meanwhile never gives or takes a byte outside",
    () =>
      Effect.gen(function* () {
        const { bearer: headers } = yield* Caller
        const target = yield* Target
        const before = fingerprint(target.outside)
        const worker = yield* Effect.acquireRelease(
          Effect.sync(() => new Worker(swapper, { eval: true, workerData: { root: target.root } })),
          (running) => Effect.promise(() => running.terminate())
        )
        yield* Effect.async<void>((resume) => void worker.once("message", () => resume(Effect.void)))
        const end = Date.now() + raceSeconds * 1000
        let served = 0
        while (Date.now() < end) {
          const replies = yield* Effect.all(
            [
              send("GET", `${target.content}?path=race/secret`, { headers }),
              send("GET", `${target.files}?path=race`, { headers }),
              change("POST", target.upload, { headers, body: { path: "race/written", content: "W" } }),
              change("POST", target.upload, {
                headers,
                body: { path: "race/secret", content: "W", expected_digest: `sha256:${"0".repeat(64)}` }
              })
            ],
            { concurrency: "unbounded" }
          )
          for (const reply of replies) assertHarmless(reply, "race")
          served += replies.filter((reply) => reply.status === 200).length
        }
        assert.isAbove(served, 5)
        assert.strictEqual(fingerprint(target.outside), before)
      }),
    (raceSeconds + 60) * 1000
  )
})

describe("conditional writes", () => {
  it.scopedLive("If-Match stands for expected_version", () =>
    Effect.gen(function* () {
      const { sessionId } = yield* newSession
      const { bearer } = yield* Caller
      const path = `/api/sessions/${sessionId}`
      const read = yield* send("GET", path, { headers: bearer })
      const etag = read.headers.get("etag") ?? ""
      assert.match(etag, /^"\d+"$/)
      const patched = yield* change("PATCH", path, { headers: { ...bearer, "if-match": etag }, body: { title: "New" } })
      assert.strictEqual(patched.status, 200)
      const stale = yield* change("PATCH", path, { headers: { ...bearer, "if-match": etag }, body: { title: "Stale" } })
      assert.deepStrictEqual([stale.status, codeOf(stale)], [409, "version_conflict"])
      const any = yield* change("PATCH", path, { headers: { ...bearer, "if-match": "*" }, body: { title: "Any" } })
      assert.strictEqual(any.status, 200)
      const odd = yield* change("PATCH", path, { headers: { ...bearer, "if-match": "three" }, body: { title: "Odd" } })
      assert.strictEqual(odd.status, 422)
      assert.include(odd.text, '"If-Match"')
    }).pipe(Effect.provide(service()))
  )
})
