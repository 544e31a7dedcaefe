import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import * as Core from "@reins/core/Core"
import { Effect, Layer, Schedule, Schema } from "effect"
import { startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { extract } from "tar"
import { problemOf } from "./contract/Answers.js"
import { operations } from "./contract/Document.js"
import { done, textAt } from "./contract/TenantParts.js"
import { newCaller, quiet, send, service } from "./Service.js"

const gateway = Effect.acquireRelease(
  Effect.promise(() => startGateway()),
  (open) => Effect.promise(() => open.close())
)

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-archive-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const cacheDir = process.env["REINS_CACHE_DIR"]

/** The whole service with its jobs worked, on the agent that is installed. */
const working = Layer.provideMerge(
  Core.worker,
  service({ allowPrivateHosts: ["127.0.0.1"], ...(cacheDir !== undefined && { cacheDir }) })
).pipe(Layer.provide(quiet))

const State = Schema.Struct({
  content: Schema.String,
  files: Schema.Array(Schema.Struct({ path: Schema.String, size: Schema.Int }))
})

const operation =
  operations.find(({ name }) => name === "GET /api/sessions/{session_id}/native-state") ?? assert.fail("not served")

layer(working, { excludeTestServices: true })("the native state of a real agent", (it) => {
  it.scoped(
    "is an archive that holds the conversation, after a turn and not before",
    () =>
      Effect.gen(function* () {
        const { url } = yield* gateway
        const person = yield* newCaller()
        const workspace = `/api/workspaces/${textAt((yield* send("GET", "/api/me", { headers: person.bearer })).json, "workspaces.0.id")}`
        yield* done(person, "POST", `${workspace}/connections`, {
          kind: "alpha_gateway",
          label: "gateway",
          credential: { base_url: url, api_key: "canary-native-key" }
        })
        const session = yield* done(person, "POST", `${workspace}/sessions`, {
          harness: { provider_id: "alpha", model: "scripted-1" }
        })
        const path = `/api/sessions/${textAt(session, "id")}`
        const before = yield* send("GET", `${path}/native-state`, { headers: person.bearer })
        assert.strictEqual(before.status, 404)

        const message = { content: 'Remember the plover. SCRIPT:[{"say":"The plover is remembered."}]' }
        const turn = `/api/turns/${textAt(yield* done(person, "POST", `${path}/messages`, message), "turn_id")}`
        const ended = yield* Effect.repeat(
          Effect.map(send("GET", turn, { headers: person.bearer }), ({ json }) => textAt(json, "state")),
          {
            until: (state) => ["succeeded", "failed", "cancelled", "interrupted"].includes(state),
            schedule: Schedule.spaced("100 millis")
          }
        ).pipe(Effect.zipRight(send("GET", turn, { headers: person.bearer })))
        assert.strictEqual(textAt(ended.json, "state"), "succeeded", ended.text)

        const reply = yield* send("GET", `${path}/native-state`, { headers: person.bearer })
        assert.strictEqual(reply.status, 200, reply.text.slice(0, 500))
        const contentType = reply.headers.get("content-type") ?? undefined
        assert.isUndefined(problemOf(operation, { status: 200, contentType, text: reply.text }))

        const { content, files } = yield* Schema.decodeUnknown(State)(reply.json)
        const unpacked = yield* directory
        yield* Effect.async<void, Error>((resume) => {
          const unpack = extract({ cwd: unpacked, strict: true })
          unpack.on("error", (error: Error) => resume(Effect.fail(error)))
          unpack.on("close", () => resume(Effect.void))
          unpack.end(Buffer.from(content, "base64"))
        })
        const found = readdirSync(unpacked, { recursive: true, withFileTypes: true }).flatMap((entry) =>
          entry.isFile() ? [join(entry.parentPath, entry.name)] : []
        )
        assert.sameMembers(
          found,
          files.map((file) => join(unpacked, file.path))
        )
        const bytes = Buffer.concat(found.map((file) => readFileSync(file)))
        assert.isTrue(bytes.includes("Remember the plover."), "the archive lacks what was said to the agent")
        assert.isTrue(bytes.includes("The plover is remembered."), "the archive lacks what the agent said")
        assert.isFalse(bytes.includes("canary-native-key"))
      }),
    180_000
  )
})
