import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { Bell, looksTopic } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { localServer } from "@reins/testing/connections/LocalServer"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import type { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect, Runtime } from "effect"

/** An address of this process that takes the calls of a forge for a hook, as the server does. */
const receiver = (hookId: string) =>
  Effect.gen(function* () {
    const receiving = yield* HookReceiving
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    const outcomes: Array<string> = []
    const { url } = yield* localServer(({ body, headers }, response) => {
      const header = (name: string) => {
        const value = headers[name]
        return typeof value === "string" ? value : undefined
      }
      const received = Effect.either(receiving.receive(hookId, { header, body: Buffer.from(body) }))
      void run(received).then((answer) => {
        outcomes.push(answer._tag === "Right" ? answer.right.outcome : "refused")
        response.writeHead(answer._tag === "Right" ? 202 : 404).end()
      })
    })
    return { outcomes, url: `${url}/hooks/in/${hookId}` }
  })

/** The hook of a forge as people make it in the settings of a repository. */
const byHand: Readonly<Record<KnownForge, (url: string, secret: string) => Readonly<Record<string, unknown>>>> = {
  github: (url, secret) => ({
    name: "web",
    events: ["push", "pull_request", "pull_request_review", "pull_request_review_comment", "check_run", "status"],
    config: { url, secret, content_type: "json" }
  }),
  gitlab: (url, token) => ({
    url,
    token,
    push_events: true,
    merge_requests_events: true,
    note_events: true,
    job_events: true
  }),
  gitea: (url, secret) => ({
    type: "gitea",
    events: ["push", "pull_request_sync", "pull_request_review", "pull_request_comment", "status"],
    config: { url, secret, content_type: "json" }
  })
}

/** Has a forge call a new hook of a workspace. It gives what became of each call. */
export const called = (kind: KnownForge, forge: ForgeServer, principal: Principal, workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const hook = yield* (yield* Hooks).create(principal, workspaceId, { kind, label: "forge" })
    const { outcomes, url } = yield* receiver(hook.id)
    forge.hooks.add(byHand[kind](url, hook.secret))
    return outcomes
  })

/** Makes the look of a merge request due by its time alone, as if its interval had passed. */
export const passTime = Effect.gen(function* () {
  const { run, sql } = yield* Database
  // A commit is tried again when it deadlocks with the looks.
  yield* (yield* Journal).commit(run(sql`update watches set look_at = '2026-01-01T00:00:00.000Z'`))
  yield* (yield* Bell).ring(looksTopic)
})

/** A look by its time is further away than this, in milliseconds. A ring that comes meanwhile is nearer. */
const farMs = 10_000

/** Puts every look off that comes by its time alone, so that only a ring brings one. */
export const stopTime = Effect.gen(function* () {
  const { clock, run, sql } = yield* Database
  const far = yield* clock.at(farMs)
  yield* (yield* Journal).commit(
    run(sql`update watches set look_at = '2999-01-01T00:00:00.000Z' where look_at > ${far}`)
  )
})
