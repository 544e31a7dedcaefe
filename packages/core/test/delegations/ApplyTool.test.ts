import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ApplicationId, newId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { TurnPrincipal } from "@reins/base/domain/Principal"
import { systemActor } from "@reins/core/access/Access"
import { ApplicationStore } from "@reins/core/changes/ApplicationStore"
import { Applications } from "@reins/core/changes/Applications"
import { Changesets } from "@reins/core/changes/Changesets"
import { TurnApplications } from "@reins/core/changes/TurnApplications"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { codeOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { callingAgents } from "@reins/testing/harness/SmallAgent"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, withAgent } from "../execution/Agent.js"
import { toldBy } from "./Told.js"

const runner = systemActor("runner")

const writes = (path: string, content: string) =>
  script("Write it.", { tool: "write", path, content }, { say: "Done." })
const delegate = (name: string, instructions: string) => ({ tool: "delegate", args: { name, instructions } })
const apply = (delegation_id: string, more: object = {}) => ({
  tool: "apply_changeset",
  args: { delegation_id, ...more }
})

for (const { layer: database, name } of flowDatabases) {
  describe(`changes that agents apply on ${name}`, () => {
    it.scopedLive(
      "an agent brings the changes of its delegations into its own tree, and a conflict writes nothing",
      () =>
        withAgent(
          "alpha_gateway",
          ({ directory, gateway, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const session = yield* (yield* Sessions).create(principal, workspaceId, {
                repository: { url: makeRemote(directory).url }
              })
              const turn = yield* runTurn(
                session.id,
                script(
                  "Split this up.",
                  delegate("one", writes("child.txt", "from one\n")),
                  delegate("two", writes("child.txt", "from two\n")),
                  { tool: "wait", args: {} },
                  apply("one", { dry_run: true }),
                  { tool: "bash", cmd: "test ! -e child.txt && echo not there" },
                  apply("one"),
                  { tool: "bash", cmd: "cat child.txt" },
                  apply("one"),
                  apply("two"),
                  { tool: "bash", cmd: "cat child.txt" },
                  apply("nobody"),
                  { say: "Done." }
                )
              )
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const [dry, empty, applied, read, again, conflicted, still, nobody] = toldBy(gateway).slice(3)
              assert.deepInclude(dry, { state: "applied", changed: ["child.txt"] })
              assert.include(empty?.text, "not there")
              assert.deepInclude(applied, { state: "applied", changed: ["child.txt"], conflict_count: 0 })
              assert.include(read?.text, "from one")
              assert.deepInclude(again, { state: "applied", changed: [] })
              assert.deepInclude(conflicted, { state: "conflicted", conflicts: ["child.txt"], changed_count: 0 })
              assert.include(still?.text, "from one")
              assert.include(nobody?.text, 'no delegation "nobody"')
              const own = yield* (yield* Changesets).list(principal, session.id, {})
              assert.deepStrictEqual(
                own.items[0]?.files.map(({ path }) => path),
                ["child.txt"]
              )
              const [, one] = (yield* (yield* Delegations).list(principal, session.id, {})).items
              assert.strictEqual(one?.state, "succeeded")
            }),
          {},
          callingAgents,
          database
        )
    )

    it.scopedLive("it is refused to strangers and after the turn, and one that broke off is told with its paths", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const source = yield* workspace(origin.url)
        const target = yield* workspace(origin.url)
        const { principal, session } = target
        const changeset = yield* source.change({ "a.txt": "ONE\n" })
        const journal = yield* Journal
        const turns = yield* TurnStore
        const store = yield* ApplicationStore
        const applications = yield* TurnApplications
        const sent = yield* (yield* Messages).send(principal, session.id, { content: "Go on." })
        const turnId = TurnId.make(sent.turn_id ?? "")
        for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turnId, to, runner))
        const agent: TurnPrincipal = {
          accountId: principal.accountId,
          scopes: ["read", "write"],
          workspaceId: session.workspace_id,
          via: { kind: "turn", sessionId: SessionId.make(session.id), turnId, providerId: "alpha", keyId: null }
        }
        const how = { strategy: "three_way", dryRun: false } as const
        // The session that made the changeset does not work for this one.
        assert.strictEqual(yield* codeOf(applications.apply(agent, changeset.id, how)), "not_found")
        const own = { id: yield* newId(ApplicationId), changeset_id: changeset.id, target_session_id: session.id }
        yield* journal.commit(
          Effect.gen(function* () {
            yield* store.insert({
              ...own,
              session_id: source.session.id,
              turn_id: turnId,
              strategy: "three_way",
              dry_run: false
            })
            yield* store.move(own.id, { state: "executing" }, runner)
            yield* store.plan(own.id, ["a.txt"])
          })
        )
        yield* journal.commit(turns.move(turnId, "interrupted", runner))
        const ended = yield* (yield* Applications).get(principal, own.id)
        assert.deepInclude(ended, { state: "failed", reason: "internal_error", changed: ["a.txt"] })
        assert.include(ended.reason_message, "may have been written")
        assert.notInclude(readFileSync(join(target.workTree, "a.txt"), "utf8"), "ONE")
        const late = { ...agent, via: { ...agent.via, sessionId: source.session.id } }
        assert.strictEqual(yield* codeOf(applications.apply(late, changeset.id, how)), "invalid_transition")
      }).pipe(Effect.provide(installation(database)))
    )
  })
}
