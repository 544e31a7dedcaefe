import { assert, describe, it } from "@effect/vitest"
import type { HookId } from "@reins/base/domain/Ids"
import { HookRegistrations } from "@reins/core/hooks/HookRegistrations"
import { HookStore } from "@reins/core/hooks/HookStore"
import { Hooks } from "@reins/core/hooks/Hooks"
import { forgetJob, registerJob } from "@reins/core/hooks/RegisterJob"
import * as Worker from "@reins/core/jobs/Worker"
import { Database } from "@reins/core/store/Database"
import { codeOf, forgeConnection, remote, token } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { everythingStored } from "@reins/testing/identity/Identity"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Layer, Logger, type Scope } from "effect"

const publicUrl = "https://reins.example"

const working = Worker.layer(Effect.all([registerJob, forgetJob])).pipe(
  Layer.provide(Logger.remove(Logger.defaultLogger))
)

/** Works until no job of hooks is due. */
const work = Effect.provide(
  Effect.gen(function* () {
    const { first, sql } = yield* Database
    const open = Effect.suspend(() =>
      first(sql`select id from jobs where kind like 'hook.%' and state in ('queued', 'running', 'retry_wait') limit 1`)
    )
    yield* Effect.repeat(Effect.delay(open, "5 millis"), { until: (row) => row === undefined })
  }),
  working
)

/** A repository on a forge, a connection to it, and a hook of its kind. */
const hookOn = (kind: KnownForge, secret = token) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const origin = yield* remote(kind)
    const connection = yield* forgeConnection(kind, origin.base, secret)
    const hooks = yield* Hooks
    const registrations = yield* HookRegistrations
    const hook = yield* hooks.create(principal, workspaceId, { kind, label: "forge" })
    const place = { connection_id: connection.id, repository: origin.url }
    return {
      ...{ hook, hooks, origin, place, principal, registrations, workspaceId },
      register: (more: object = {}) => registrations.register(principal, hook.id, { ...place, ...more }),
      standing: (id: HookId = hook.id) =>
        Effect.map(hooks.get(principal, id), ({ registration }) => registration?.state ?? null)
    }
  })

const addressOf = (id: string) => `${publicUrl}/api/hooks/${id}`

/** The parts of a hook on a forge that the kinds name differently. */
const partsOf = (body: Readonly<Record<string, unknown>> = {}) => {
  const config = typeof body["config"] === "object" && body["config"] !== null ? body["config"] : undefined
  const { secret, url } = { secret: undefined, url: undefined, ...config }
  return { secret: secret ?? body["token"], url: url ?? body["url"] }
}

const issueEvents = {
  github: { events: ["issues"] },
  gitlab: { issues_events: true, push_events: false },
  gitea: { events: ["issues", "issue_label"] }
} as const

for (const { layer, name } of flowDatabases) {
  describe(`registrations of hooks on ${name}`, () => {
    const rule = (
      text: string,
      test: Effect.Effect<void, unknown, Layer.Layer.Success<ReturnType<typeof services>> | Scope.Scope>
    ) =>
      it.scopedLive(
        text,
        () => test.pipe(Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"], publicUrl }))),
        30_000
      )

    for (const kind of ["github", "gitlab", "gitea"] as const)
      rule(
        `${kind} makes the hook, takes its new secret, and forgets it`,
        Effect.gen(function* () {
          const { hook, hooks, origin, principal, register, registrations, standing } = yield* hookOn(kind)
          const asked = yield* register({ occasions: ["issues"] })
          assert.strictEqual(asked.registration?.state, "pending")
          yield* work
          assert.strictEqual(yield* standing(), "registered")
          const [made, ...more] = origin.forge.hooks.held
          assert.lengthOf(more, 0)
          assert.deepInclude(made?.body, issueEvents[kind])
          assert.deepStrictEqual(partsOf(made?.body), { secret: hook.secret, url: addressOf(hook.id) })
          const rotated = yield* hooks.rotate(principal, hook.id, {})
          assert.strictEqual(yield* standing(), "pending")
          yield* work
          assert.lengthOf(origin.forge.hooks.held, 1)
          assert.strictEqual(partsOf(origin.forge.hooks.held[0]?.body).secret, rotated.secret)
          // A registration that comes again finds the hook that is there.
          yield* register()
          yield* work
          assert.lengthOf(origin.forge.hooks.held, 1)
          yield* registrations.unregister(principal, hook.id)
          yield* work
          assert.isNull(yield* standing())
          assert.lengthOf(origin.forge.hooks.held, 0)
          yield* register()
          yield* work
          assert.lengthOf(origin.forge.hooks.held, 1)
          yield* hooks.remove(principal, hook.id)
          yield* work
          assert.lengthOf(origin.forge.hooks.held, 0)
          assert.notInclude(yield* everythingStored, rotated.secret)
        })
      )

    rule(
      "a secret that changes while the forge is asked reaches it too, in one hook",
      Effect.gen(function* () {
        const { hook, hooks, origin, principal, register, standing } = yield* hookOn("gitea")
        yield* register()
        const first = yield* hooks.rotate(principal, hook.id, {})
        const second = yield* hooks.rotate(principal, hook.id, {})
        assert.notStrictEqual(first.secret, second.secret)
        yield* work
        assert.strictEqual(yield* standing(), "registered")
        assert.lengthOf(origin.forge.hooks.held, 1)
        assert.strictEqual(partsOf(origin.forge.hooks.held[0]?.body).secret, second.secret)
        const row = yield* (yield* HookStore).find(hook.id)
        assert.include(row?.registration ?? "", '"version":3')
      })
    )

    rule(
      "the words of the forge are told, and each wrong place is refused before it is asked",
      Effect.gen(function* () {
        const { hook, hooks, origin, place, principal, register, registrations, standing, workspaceId } =
          yield* hookOn("github")
        assert.strictEqual(yield* codeOf(registrations.unregister(principal, hook.id)), "invalid_transition")
        origin.forge.canned.push({ status: 200, body: "[]" })
        origin.forge.canned.push({
          status: 422,
          body: JSON.stringify({
            message: "Validation Failed",
            errors: [{ message: "url is not supported because it isn't reachable over the public Internet" }]
          })
        })
        yield* register()
        yield* work
        const { registration } = yield* hooks.get(principal, hook.id)
        assert.deepInclude(registration, { state: "failed", reason: "rejected" })
        assert.include(registration?.reason_message ?? "", "reachable over the public Internet")
        // Another try mends it.
        yield* register()
        yield* work
        assert.strictEqual(yield* standing(), "registered")
        const other = { ...place, repository: place.repository.replace("shop", "other") }
        assert.strictEqual(yield* codeOf(registrations.register(principal, hook.id, other)), "invalid_transition")
        const program = yield* hooks.create(principal, workspaceId, { kind: "token", label: "program" })
        for (const wrong of [
          registrations.register(principal, program.id, place),
          registrations.register(principal, hook.id, { ...place, repository: "https://elsewhere.example/a/b.git" })
        ])
          assert.strictEqual((yield* Effect.flip(wrong))._tag, "RequestInvalid")
      })
    )

    rule(
      "a token that may not manage webhooks is told, and its connection needs a new one",
      Effect.gen(function* () {
        const { hook, hooks, origin, principal, register } = yield* hookOn("gitlab", "a-wrong-token")
        yield* register()
        yield* work
        assert.deepInclude((yield* hooks.get(principal, hook.id)).registration, {
          state: "failed",
          reason: "auth_required"
        })
        assert.lengthOf(origin.forge.hooks.held, 0)
      })
    )
  })
}
