import * as fs from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { SessionId } from "@reins/base/domain/Ids"
import * as Core from "@reins/core/Core"
import { Changesets } from "@reins/core/changes/Changesets"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Accounts } from "@reins/core/identity/Accounts"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { Caller, change } from "./Service.js"
import { newSession } from "./Sessions.js"

export const canary = "canary-Kp3wV8xQ2zR6tY1m"

const principal = Effect.gen(function* () {
  const { email } = yield* Caller
  const account = yield* (yield* Accounts).get(email)
  return { accountId: account.id, scopes: ["admin" as const], workspaceId: null, via: { kind: "embedded" as const } }
})

/** A changeset of the session as it is now, ready. */
export const capture = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const { bearer: headers } = yield* Caller
    const captured = yield* change("POST", `/api/sessions/${sessionId}/changesets`, { headers, body: {} })
    const { changeset, event_watermark: after } = yield* Schema.decodeUnknown(
      Schema.Struct({ changeset: Schema.Struct({ id: Schema.String }), event_watermark: Schema.Int })
    )(captured.json)
    yield* Effect.provide(
      (yield* EventFeed).stream(yield* principal, sessionId, { after: after - 1 }).pipe(
        Stream.takeUntil((event) => event.type === "changeset.ready" && event.changeset_id === changeset.id),
        Stream.runDrain
      ),
      Core.worker
    )
    const ready = yield* (yield* Changesets).get(yield* principal, changeset.id)
    assert.strictEqual(ready.state, "ready")
    return ready
  })

/** A session with a workspace of one file, and a secret beside it that nobody may reach. */
export const newTarget = Effect.gen(function* () {
  const { sessionId } = yield* newSession
  const { bearer: headers } = yield* Caller
  const session = `/api/sessions/${sessionId}`
  const upload = `${session}/file-uploads`
  const put = yield* change("POST", upload, { headers, body: { path: "dir/inside.txt", content: "inside" } })
  assert.strictEqual(put.status, 200, put.text)
  const changeset = yield* capture(sessionId)
  const root = (yield* pathsOf(sessionId)).workTree
  const outside = join(root, "..", "outside")
  fs.mkdirSync(outside)
  fs.writeFileSync(join(outside, "secret"), canary)
  return {
    sessionId,
    root,
    outside,
    files: `${session}/files`,
    content: `${session}/files/content`,
    upload,
    changeset: `/api/changesets/${changeset.id}/files`
  }
}).pipe(Effect.orDie)

/** One of them for the tests of a file. */
export class Target extends Context.Tag("@reins/server/test/Target")<
  Target,
  Effect.Effect.Success<typeof newTarget>
>() {
  static readonly layer = Layer.effect(Target, newTarget)
}
