import { createHash } from "node:crypto"
import { link, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import * as Core from "@reins/core/Core"
import { Changesets } from "@reins/core/changes/Changesets"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { HarnessSwitches } from "@reins/core/execution/executor/HarnessSwitches"
import { NativeStateExport } from "@reins/core/execution/executor/NativeStateExport"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { FileUpload } from "@reins/core/worktrees/FilesApi"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { faultsOf } from "@reins/testing/Faults"
import { within } from "@reins/testing/MachineTime"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { list } from "tar"
import { stranger } from "../identity/Principals.js"

/** The failure of a call: the code of the error, or the place and type of what is malformed. */
const failureOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error): unknown => {
    if (error instanceof ReinsError) return error.code
    if (error instanceof RequestInvalid) {
      const [fault] = faultsOf(error)
      return ["invalid", ...(fault?.loc ?? [])].join(" ")
    }
    return error
  })

const sha256 = (content: string) => `sha256:${createHash("sha256").update(content).digest("hex")}`

const newSession = Effect.gen(function* () {
  const owner = yield* ownerWithConnection
  const session = yield* (yield* Sessions).create(owner.principal, owner.workspaceId, {})
  return { ...owner, session, files: yield* SessionFiles, root: (yield* pathsOf(session.id)).workTree }
})

const untilEvent = Effect.fnUntraced(function* (principal: Principal, sessionId: string, type: string) {
  const events = (yield* EventFeed).stream(principal, sessionId, { after: 0 })
  yield* events.pipe(
    Stream.takeUntil((event) => event.type === type),
    Stream.runDrain,
    within(30)
  )
})

for (const { layer, name } of flowDatabases) {
  const asleep = services(layer)

  describe(`files of a session on ${name}`, () => {
    it.scopedLive("an upload makes the workspace without an executor, and what it wrote can be listed and read", () =>
      Effect.gen(function* () {
        const { files, principal, root, session } = yield* newSession
        assert.strictEqual(yield* failureOf(files.list(principal, session.id, "")), "executor_unavailable")
        assert.strictEqual(yield* failureOf(files.read(principal, session.id, "a/b.txt")), "executor_unavailable")
        const text = "héllo\n"
        const { file } = yield* files.upload(principal, session.id, { path: "a/b.txt", content: text, mode: "0755" })
        assert.deepStrictEqual(file, { place: "workspace", path: "a/b.txt", size: 7, digest: sha256(text) })
        assert.strictEqual(yield* Effect.promise(() => readFile(join(root, "a/b.txt"), "utf8")), text)
        const { items, truncated } = yield* files.list(principal, session.id, "a")
        assert.deepStrictEqual(
          items.map(({ modified_at: at, ...item }) => [/^\d{4}-.*\.\d{3}Z$/.test(at), item]),
          [[true, { name: "b.txt", path: "a/b.txt", type: "file", size: 7, mode: "0755" }]]
        )
        assert.isFalse(truncated)
        assert.deepStrictEqual(yield* files.read(principal, session.id, "a/b.txt"), {
          path: "a/b.txt",
          encoding: "utf-8",
          content: text,
          size: 7,
          digest: sha256(text),
          truncated: false
        })
        const read = yield* (yield* Sessions).get(principal, session.id)
        assert.deepStrictEqual([read.workspace.state, read.executor.state], ["ready", "none"])
        const { items: events } = yield* (yield* EventLog).page(principal, session.id, { after: 0, limit: 100 })
        assert.deepStrictEqual(
          events.slice(-2).map((event) => [event.type, event.payload["path"]]),
          [
            ["workspace.restored", null],
            ["workspace.changed", "a/b.txt"]
          ]
        )
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("binary content goes in and out as base64, and other base64 is malformed", () =>
      Effect.gen(function* () {
        const { files, principal, session } = yield* newSession
        const content = Buffer.from([0, 255, 254, 10, 13]).toString("base64")
        yield* files.upload(principal, session.id, { path: "b", content, encoding: "base64" })
        const read = yield* files.read(principal, session.id, "b")
        assert.deepStrictEqual([read.encoding, read.content, read.size], ["base64", content, 5])
        const long = Buffer.alloc(2 * 1024 * 1024, "reins").toString("base64")
        const { file } = yield* files.upload(principal, session.id, { path: "l", content: long, encoding: "base64" })
        assert.strictEqual(file.size, 2 * 1024 * 1024)
        const wrongs = ["a", "YQ", "YQ=", "Y Q==", "YQ==\n", "YR==", "YQ==YQ==", "-_-_", "****"]
        const wrongLate = [`${long}AAAA`, `${long.slice(0, -8)}-${long.slice(-7)}`, long.replaceAll("V", "_")]
        for (const wrong of [...wrongs, ...wrongLate]) {
          const upload = files.upload(principal, session.id, { path: "c", content: wrong, encoding: "base64" })
          assert.strictEqual(yield* failureOf(upload), "invalid body content", wrong.slice(-20))
        }
        const half = files.upload(principal, session.id, { path: "c", content: "\ud800" })
        assert.strictEqual(yield* failureOf(half), "invalid body content")
        const empty = yield* files.upload(principal, session.id, { path: "c", content: "", encoding: "base64" })
        assert.strictEqual(empty.file.size, 0)
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("a write that expects another file changes nothing and says what is there", () =>
      Effect.gen(function* () {
        const { files, principal, session } = yield* newSession
        const put = (content: string, expected_digest: string) =>
          files.upload(principal, session.id, { path: "a", content, expected_digest })
        yield* put("one", "absent")
        const conflict = yield* Effect.flip(put("two", "absent"))
        assert.isTrue(conflict instanceof ReinsError && conflict.is("version_conflict"))
        assert.deepStrictEqual("details" in conflict && conflict.details, {
          path: "a",
          expected_digest: "absent",
          actual_digest: sha256("one")
        })
        assert.strictEqual(yield* failureOf(put("two", sha256("none"))), "version_conflict")
        assert.strictEqual((yield* files.read(principal, session.id, "a")).content, "one")
        yield* put("two", sha256("one"))
        // A repetition of a write whose answer was lost finds its own work.
        assert.strictEqual((yield* put("two", sha256("one"))).file.digest, sha256("two"))
        assert.strictEqual((yield* put("two", "absent")).file.digest, sha256("two"))
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("an attachment is beside the workspace, and no changeset or event of the workspace tells of it", () =>
      Effect.gen(function* () {
        const { files, principal, session } = yield* newSession
        const { home } = yield* pathsOf(session.id)
        const attach = (content: string) => files.upload(principal, session.id, { name: "a shot.png", content })
        const { file, upload_id } = yield* attach("one")
        assert.deepStrictEqual(file, { place: "attachment", path: "a shot.png", size: 3, digest: sha256("one") })
        // Another file of the same name takes no place of the first, and the same file is one.
        yield* attach("two")
        yield* attach("two")
        const kept = yield* Effect.promise(() => readdir(join(home, "attachments"), { recursive: true }))
        assert.lengthOf(
          kept.filter((each) => each.endsWith("a shot.png")),
          2
        )
        assert.deepStrictEqual((yield* files.list(principal, session.id, "")).items, [])
        const { message } = yield* (yield* Messages).send(principal, session.id, {
          content: "Look.",
          attachments: [upload_id],
          routing: "note"
        })
        assert.deepStrictEqual(message.content[1], { type: "file", upload_id, ...file })
        const { changeset } = yield* (yield* Changesets).capture(principal, session.id, {})
        yield* Effect.provide(untilEvent(principal, session.id, "changeset.ready"), Core.worker)
        assert.isTrue((yield* (yield* Changesets).get(principal, changeset.id)).empty)
        const { items: log } = yield* (yield* EventLog).page(principal, session.id, { after: 0, limit: 100 })
        assert.notInclude(
          log.map(({ type }) => type),
          "workspace.changed"
        )
        const refusal = (upload: Partial<FileUpload>) =>
          failureOf(files.upload(principal, session.id, { content: "x", ...upload }))
        for (const name of ["", "..", "a/b", "/a", ".git", "a\\b", "x".repeat(256)])
          assert.strictEqual(yield* refusal({ name }), "invalid body name", name)
        assert.strictEqual(yield* refusal({}), "invalid body path")
        assert.strictEqual(yield* refusal({ name: "a", path: "a" }), "invalid body name")
        assert.strictEqual(yield* refusal({ name: "a", mode: "0644" }), "invalid body mode")
        assert.strictEqual(yield* refusal({ name: "a", expected_digest: "absent" }), "invalid body expected_digest")
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "paths are refused where they stand in the request, what is absent is not found, and 25 MiB is the limit",
      () =>
        Effect.gen(function* () {
          const { files, principal, root, session } = yield* newSession
          const refused = files.upload(principal, session.id, { path: "../x", content: "" })
          assert.strictEqual(yield* failureOf(refused), "invalid body path")
          assert.strictEqual((yield* (yield* Sessions).get(principal, session.id)).workspace.state, "none")
          const tooLarge = files.upload(principal, session.id, {
            path: "x",
            content: "x".repeat(defaultLimits.uploadBytes + 1)
          })
          assert.strictEqual(yield* failureOf(tooLarge), "payload_too_large")
          yield* files.upload(principal, session.id, { path: "dir/file", content: "x" })
          yield* Effect.promise(async () => {
            await symlink("/etc/passwd", join(root, "link"))
            await writeFile(join(root, "..", "outside"), "OUTSIDE")
            await link(join(root, "..", "outside"), join(root, "hard"))
          })
          const read = (path: string) => failureOf(files.read(principal, session.id, path))
          assert.strictEqual(yield* read("absent"), "not_found")
          assert.strictEqual(yield* read("absent/absent"), "not_found")
          for (const path of ["dir", "dir/file/x", "link", "hard", "", ".git/config"]) {
            assert.strictEqual(yield* read(path), "invalid query path", path)
          }
          for (const path of ["dir/file", "link", "a/..", ".git"]) {
            assert.strictEqual(yield* failureOf(files.list(principal, session.id, path)), "invalid query path", path)
          }
          const hashed = files.upload(principal, session.id, {
            path: "hard",
            content: "x",
            expected_digest: sha256("y")
          })
          assert.strictEqual(yield* failureOf(hashed), "invalid body path")
          yield* files.upload(principal, session.id, { path: "hard", content: "INSIDE" })
          assert.strictEqual(yield* Effect.promise(() => readFile(join(root, "..", "outside"), "utf8")), "OUTSIDE")
          assert.strictEqual((yield* files.read(principal, session.id, "hard")).content, "INSIDE")
          const entries = (yield* files.list(principal, session.id, "")).items.map((item) => [item.name, item.type])
          assert.deepStrictEqual(entries, [
            ["dir", "directory"],
            ["hard", "file"],
            ["link", "symlink"]
          ])
        }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("an upload does not wait for the turn that holds the workspace", () =>
      Effect.gen(function* () {
        const { files, principal, session } = yield* newSession
        const trees = yield* WorkingTrees
        const held = yield* Deferred.make<void>()
        const turn = yield* Effect.fork(
          trees.exclusive(session.id, Effect.zipRight(Deferred.succeed(held, undefined), Effect.never))
        )
        yield* Deferred.await(held)
        const { file } = yield* files.upload(principal, session.id, { path: "a", content: "a" }).pipe(within(20))
        assert.strictEqual(file.path, "a")
        yield* Fiber.interrupt(turn)
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("a closed session and somebody else's are not written to", () =>
      Effect.gen(function* () {
        const { files, principal, session } = yield* newSession
        yield* files.upload(principal, session.id, { path: "a", content: "a" })
        const other = yield* stranger
        for (const attempt of [
          files.list(other, session.id, ""),
          files.read(other, session.id, "a"),
          files.upload(other, session.id, { path: "a", content: "b" }),
          (yield* NativeStateExport).read(other, session.id),
          (yield* HarnessSwitches).create(other, session.id, { harness: { provider_id: "alpha" }, summary: "Mine" })
        ]) {
          assert.strictEqual(yield* failureOf<unknown, unknown>(attempt), "not_found")
        }
        yield* (yield* Sessions).archive(principal, session.id)
        const late = files.upload(principal, session.id, { path: "a", content: "b" })
        assert.strictEqual(yield* failureOf(late), "invalid_transition")
        assert.strictEqual((yield* files.read(principal, session.id, "a")).content, "a")
        yield* (yield* Sessions).close(principal, session.id)
        assert.strictEqual(yield* failureOf(late), "invalid_transition")
        yield* (yield* WorkingTrees).remove(session.id)
        assert.strictEqual(yield* failureOf(files.read(principal, session.id, "a")), "invalid_transition")
      }).pipe(Effect.provide(asleep))
    )
  })

  describe(`harness switches on ${name}`, () => {
    it.scopedLive("a switch makes a linked session that begins with the summary and, if asked, with a changeset", () =>
      Effect.gen(function* () {
        const { files, principal, session, workspaceId } = yield* newSession
        const switches = yield* HarnessSwitches
        yield* (yield* Sessions).update(principal, session.id, { title: "Work", labels: { team: "a" } })
        yield* files.upload(principal, session.id, { path: "kept.txt", content: "kept" })
        const changesets = yield* Changesets
        const captured = yield* changesets.capture(principal, session.id, {})
        const input = { harness: { provider_id: "beta" }, summary: "It is half done." }
        const unsealed = switches.create(principal, session.id, { ...input, changeset_id: captured.changeset.id })
        assert.strictEqual(yield* failureOf(unsealed), "invalid body changeset_id")
        yield* Effect.provide(untilEvent(principal, session.id, "changeset.ready"), Core.worker)
        yield* files.upload(principal, session.id, { path: "later.txt", content: "not captured" })
        const made = yield* switches.create(principal, session.id, { ...input, changeset_id: captured.changeset.id })
        assert.deepStrictEqual(
          [made.linked_from_session_id, made.link_kind, made.harness.provider_id, made.title, made.labels],
          [session.id, "harness_switch", "beta", "Work", { team: "a" }]
        )
        assert.strictEqual(made.activity, "idle")
        const said = (yield* (yield* Messages).list(principal, made.id, {})).items
        assert.deepStrictEqual(
          said.map((message) => [message.ordinal, message.kind, message.state, message.content]),
          [[1, "handoff_summary", "accepted", [{ type: "text", text: "It is half done." }]]]
        )
        for (const id of [session.id, made.id]) {
          const { items } = yield* (yield* EventLog).page(principal, id, { after: 0, limit: 100 })
          const linked = items.filter((event) => event.type === "session.linked").map((event) => event.payload)
          assert.deepStrictEqual(linked, [
            {
              from_session_id: session.id,
              to_session_id: made.id,
              link_kind: "harness_switch",
              changeset_id: captured.changeset.id
            }
          ])
        }
        yield* (yield* WorkingTrees).make(made.id)
        assert.deepStrictEqual(
          (yield* files.list(principal, made.id, "")).items.map((item) => item.name),
          ["kept.txt"]
        )
        const other = yield* (yield* Sessions).create(principal, workspaceId, {})
        const foreign = switches.create(principal, other.id, { ...input, changeset_id: captured.changeset.id })
        assert.strictEqual(yield* failureOf(foreign), "invalid body changeset_id")
        const disabled = switches.create(principal, session.id, { harness: { provider_id: "gamma" }, summary: "x" })
        assert.strictEqual(yield* failureOf(disabled), "provider_disabled")
      }).pipe(Effect.provide(asleep))
    )
  })

  describe(`native state on ${name}`, () => {
    it.scopedLive("the agent's own files are exported as an archive, where the provider supports that", () =>
      Effect.gen(function* () {
        const { principal, session, workspaceId } = yield* newSession
        const states = yield* NativeStateExport
        assert.strictEqual(yield* failureOf(states.read(principal, session.id)), "not_found")
        const { home } = yield* pathsOf(session.id)
        const kept = ".local/share/opencode"
        yield* Effect.promise(async () => {
          await mkdir(join(home, kept, "storage"), { recursive: true })
          await writeFile(join(home, kept, "opencode.db"), "rows")
          await writeFile(join(home, kept, "storage", "a.json"), "{}")
          await writeFile(join(home, "secret"), "not state")
        })
        const state = yield* states.read(principal, session.id)
        const archive = Buffer.from(state.content, "base64")
        assert.strictEqual(state.digest, `sha256:${createHash("sha256").update(archive).digest("hex")}`)
        assert.match(state.state_digest, /^sha256:[0-9a-f]{64}$/)
        const names: Array<string> = []
        const reader = list({ onReadEntry: (entry) => void names.push(entry.path) })
        yield* Effect.promise(
          () => new Promise<void>((resolve, reject) => void reader.on("end", resolve).on("error", reject).end(archive))
        )
        assert.sameMembers(names, [`${kept}/opencode.db`, `${kept}/storage/a.json`])
        assert.deepStrictEqual(
          state.files.map((file) => file.path),
          names.sort()
        )
        const beta = yield* (yield* Sessions).create(principal, workspaceId, { harness: { provider_id: "beta" } })
        assert.strictEqual(yield* failureOf(states.read(principal, beta.id)), "unsupported_capability")
      }).pipe(Effect.provide(asleep))
    )
  })
}
