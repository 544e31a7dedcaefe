import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { Applications } from "@reins/core/changes/Applications"
import type { ApplicationInput } from "@reins/core/changes/ChangesApi"
import type { Changeset } from "@reins/core/changes/Changeset"
import * as Embedded from "@reins/core/Embedded"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { WorkingTreeStore } from "@reins/core/worktrees/WorkingTreeStore"
import {
  codeOf,
  eventOf,
  installation,
  operationEnd,
  remote,
  sealed,
  system,
  workspace
} from "@reins/testing/changes/Fixture"
import { put } from "@reins/testing/git/Fixture"
import { newAccount } from "@reins/testing/identity/Identity"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { principalOf } from "../identity/Principals.js"

const read = (root: string, path: string) => readFileSync(join(root, path), "utf8")

/** Applies a changeset and waits for the end. Gives the application and the event that tells the end. */
const applied = (changeset: Changeset, input: ApplicationInput) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const applications = yield* Applications
    const {
      application,
      event_watermark: after,
      operation
    } = yield* applications.request(principal, changeset.id, input)
    assert.strictEqual(application.state, "pending")
    const event = yield* eventOf(
      input.target_session_id,
      after,
      "workspace.applied",
      "workspace.apply_conflicted",
      "workspace.apply_failed"
    )
    yield* operationEnd(operation.id)
    return { application: yield* applications.get(principal, application.id), event }
  })

for (const { layer, name } of flowDatabases) {
  describe(`applications on ${name}`, () => {
    it.scopedLive("a changeset is merged into what the target holds; applying it again changes nothing", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const source = yield* workspace(origin.url)
        const target = yield* workspace(origin.url)
        put(target.workTree, "own.txt", "own\n")
        const changeset = yield* source.change({ "a.txt": "ONE\n", "new/c.txt": "three\n" })
        const input = { target_session_id: target.session.id }
        const { application, event } = yield* applied(changeset, input)
        assert.deepInclude(application, { state: "applied", changed: ["a.txt", "new/c.txt"], conflicts: [] })
        assert.strictEqual(read(target.workTree, "a.txt"), "ONE\n")
        assert.strictEqual(read(target.workTree, "own.txt"), "own\n")
        assert.strictEqual(event?.type, "workspace.applied")
        assert.deepInclude(event?.payload, {
          application_id: application.id,
          source_session_id: source.session.id,
          changed_count: 2
        })
        for (const strategy of ["three_way", "exact"] as const) {
          const again = yield* applied(changeset, { ...input, strategy })
          assert.deepInclude(again.application, { state: "applied", changed: [] })
        }
      }).pipe(Effect.provide(installation(layer)))
    )

    it.scopedLive(
      "a conflict lists its paths and leaves the target untouched; a dry run reports and writes nothing",
      () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const source = yield* workspace(origin.url)
          const target = yield* workspace(origin.url)
          const changeset = yield* source.change({ "a.txt": "ONE\n", "c.txt": "three\n" })
          const input = { target_session_id: target.session.id }
          const dry = yield* applied(changeset, { ...input, dry_run: true })
          assert.deepInclude(dry.application, { state: "applied", dry_run: true, changed: ["a.txt", "c.txt"] })
          assert.deepInclude(dry.event?.payload, { dry_run: true })
          assert.isFalse(existsSync(join(target.workTree, "c.txt")))
          put(target.workTree, "a.txt", "mine\n")
          for (const strategy of ["three_way", "exact"] as const) {
            const { application, event } = yield* applied(changeset, { ...input, strategy })
            assert.deepInclude(application, { state: "conflicted", conflicts: ["a.txt"], changed: [] })
            assert.strictEqual(event?.type, "workspace.apply_conflicted")
          }
          assert.strictEqual(read(target.workTree, "a.txt"), "mine\n")
          assert.isFalse(existsSync(join(target.workTree, "c.txt")))
        }).pipe(Effect.provide(installation(layer)))
    )

    it.scopedLive("a changeset of a session that is closed can still be applied", () =>
      Effect.gen(function* () {
        const source = yield* workspace()
        const target = yield* workspace()
        const changeset = yield* source.change({ "a.txt": "ONE\n" })
        yield* (yield* Sessions).close(source.principal, source.session.id)
        const { application } = yield* applied(changeset, { target_session_id: target.session.id })
        assert.strictEqual(application.state, "applied")
        assert.strictEqual(read(target.workTree, "a.txt"), "ONE\n")
      }).pipe(Effect.provide(installation(layer)))
    )

    it.scopedLive("an attempt after one that died in the middle finishes the work, by either strategy", () =>
      Effect.gen(function* () {
        const source = yield* workspace()
        const changeset = yield* source.change({ "a.txt": "ONE\n", "b.txt": "TWO\n" })
        const { principal } = source
        const applications = yield* Applications
        for (const strategy of ["three_way", "exact"] as const) {
          const target = yield* workspace()
          // The lost attempt has written this file before it died.
          put(target.workTree, "a.txt", "ONE\n")
          const { application } = yield* applied(changeset, { target_session_id: target.session.id, strategy })
          assert.deepInclude(application, { state: "applied", changed: ["b.txt"] })
          assert.strictEqual(read(target.workTree, "b.txt"), "TWO\n")
          assert.strictEqual((yield* applications.get(principal, application.id)).state, "applied")
        }
      }).pipe(Effect.provide(installation(layer)))
    )
  })

  describe(`refused applications on ${name}`, () => {
    it.scopedLive("a target without a workspace, with a turn, archived, or of somebody else is refused", () =>
      Effect.gen(function* () {
        const { changeset, principal, workspaceId } = yield* sealed
        const sessions = yield* Sessions
        const applications = yield* Applications
        const target = yield* sessions.create(principal, workspaceId, {})
        const request = (who: Principal = principal) =>
          applications.request(who, changeset.id, { target_session_id: target.id })
        assert.strictEqual(yield* codeOf(request()), "executor_unavailable")
        const journal = yield* Journal
        const files = yield* WorkingTreeStore
        const { id } = target
        yield* journal.commit(files.move({ id, tree: { state: "none" } }, "preparing"))
        yield* journal.commit(files.move({ id, tree: { state: "preparing" } }, "ready"))
        const theirs = principalOf(yield* newAccount)
        assert.strictEqual(yield* codeOf(request(theirs)), "not_found")
        const sent = yield* (yield* Messages).send(principal, target.id, { content: "Hello" })
        const turns = yield* Turns
        const turnStore = yield* TurnStore
        const turn = yield* turns.get(principal, sent.turn_id ?? "")
        yield* journal.commit(turnStore.move(turn.id, "preparing", system))
        assert.strictEqual(yield* codeOf(request()), "turn_active")
        yield* turns.cancel(principal, turn.id)
        assert.strictEqual((yield* request()).application.state, "pending")
        yield* sessions.archive(principal, target.id)
        assert.strictEqual(yield* codeOf(request()), "invalid_transition")
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
