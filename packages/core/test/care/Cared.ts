import * as Memberships from "@reins/core/access/Memberships"
import { Boot } from "@reins/core/base/Boot"
import { CoreConfig } from "@reins/core/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Cares } from "@reins/core/care/Cares"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/changes/Deliveries"
import { MergeRequestLooks } from "@reins/core/changes/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/changes/MergeRequests"
import { Connections } from "@reins/core/connections/Connections"
import type { Principal } from "@reins/core/domain/Principal"
import { now } from "@reins/core/domain/Timestamp"
import * as Embedded from "@reins/core/Embedded"
import { PasswordCost } from "@reins/core/identity/Passwords"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { eventOf, eventsUntil, forgeConnection, remote } from "@reins/testing/changes/Fixture"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { newAccount } from "@reins/testing/identity/Identity"
import { Context, Effect, Layer, Logger, LogLevel } from "effect"
import { type ChatMessage, type Gateway, type Step, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, temporaryDirectory } from "../execution/Agent.js"

/** The secret that must appear nowhere. */
export const canary = "canary-Zq8rT2vX5nB7mK1p"

/** The steps of the model for the messages of care, and for those of people. Without the latter it makes `ONE` of a file. */
export interface Model {
  onCare: (prompt: string) => Array<Step>
  onPerson?: ((prompt: string) => Array<Step>) | undefined
}

export class Scripted extends Context.Tag("test/Scripted")<
  Scripted,
  { readonly model: Model; readonly gateway: Gateway }
>() {}

export const write = (path: string, content: string): Step => ({ tool: "write", path, content })

const first: Array<Step> = [write("a.txt", "ONE\n"), { say: "Written." }]

const isCare = ({ role, text }: ChatMessage): boolean => role === "user" && text.includes("needs work before")

/** The steps for the newest message of a person or of care. */
const planOf = (model: Model) => (messages: ReadonlyArray<ChatMessage>) => {
  const last = messages.findLast(({ role }) => role === "user")
  if (last === undefined) return first
  return isCare(last) ? model.onCare(last.text) : (model.onPerson?.(last.text) ?? first)
}

/** An installation with a scripted model behind the small agent. */
export const installation = (database: Layer.Layer<Database | Bell>) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const model: Model = { onCare: () => [{ say: "Nothing." }] }
      const gateway = yield* Effect.acquireRelease(
        Effect.promise(() => startGateway({ apiKey: canary, plan: planOf(model) })),
        (open) => Effect.promise(() => open.close())
      )
      return Core.worker.pipe(
        Layer.provideMerge(Core.layerWith({ manifests: smallAgents })),
        Layer.provideMerge(
          Layer.mergeAll(
            CoreConfig.layer({
              dataDir,
              executors: [testExecutor],
              allowPrivateHosts: ["127.0.0.1"],
              maxRunningTurns: 4,
              agentFreeMemory: 0,
              prewarm: false,
              ...(process.env["REINS_CACHE_DIR"] !== undefined && { cacheDir: process.env["REINS_CACHE_DIR"] })
            }),
            database,
            Boot.layerSingle,
            Layer.succeed(Scripted, { model, gateway })
          )
        )
      )
    })
  ).pipe(Layer.provide([Logger.minimumLogLevel(LogLevel.Error), PasswordCost.layerTest]))

/** A member of the workspace, and what removes them from it. */
export const newMember = Effect.gen(function* () {
  const { workspaceId } = yield* Embedded.owner
  const db = yield* Database
  const { commit } = yield* Journal
  const { id } = yield* newAccount
  const membership = { workspace_id: workspaceId, account_id: id, role: "member" } as const
  yield* commit(Memberships.add(db, { ...membership, created_at: yield* now }))
  const member: Principal = { accountId: id, scopes: ["write"], workspaceId: null, via: { kind: "embedded" } }
  return { member, remove: commit(Memberships.removeMembership(db, workspaceId, id)) }
})

let newestProject = 1

type Origin = Effect.Effect.Success<ReturnType<typeof remote>>

/** An open merge request of a session whose agent has made it, on a forge that `prepare` gets first. */
export const opened = <R = never>(
  kind: KnownForge,
  care?: CareInput,
  isOfProject = false,
  prepare: (origin: Origin) => Effect.Effect<unknown, never, R> = () => Effect.void
) =>
  Effect.gen(function* () {
    const { gateway, model } = yield* Scripted
    // An earlier test may have set it.
    model.onPerson = undefined
    const { principal, workspaceId } = yield* Embedded.owner
    const connections = yield* Connections
    const made = yield* connections.create(principal, workspaceId, {
      kind: "alpha_gateway",
      label: "scripted",
      credential: { base_url: gateway.url, api_key: canary }
    })
    yield* connections.update(principal, made.id, { preferred_model: "scripted-1" })
    const origin = yield* remote(kind)
    yield* prepare(origin)
    const connection = yield* forgeConnection(kind, origin.base)
    const project = isOfProject
      ? yield* (yield* Projects).create(principal, workspaceId, {
          slug: `cared-${newestProject++}`,
          name: "Cared for",
          spec: { delivery: { care: care ?? {} } }
        })
      : undefined
    const session = yield* (yield* Sessions).create(principal, workspaceId, {
      ...(project !== undefined && { project_id: project.id }),
      title: "Fix the sum",
      connection_id: made.id,
      repository: { url: origin.url }
    })
    const messages = yield* Messages
    /** Sends a message and waits for the end of its turn. */
    const say = Effect.fnUntraced(function* (content: string) {
      const { turn_id } = yield* messages.send(principal, session.id, { content })
      const events = yield* eventsUntil(session.id, 0, (event) => event.turn_id === turn_id && isTurnEnd(event))
      return events.at(-1)
    })
    yield* say("Begin.")
    const [changeset] = (yield* (yield* Changesets).list(principal, session.id, {})).items
    const deliveries = yield* Deliveries
    const asked = yield* deliveries.request(principal, changeset?.id ?? "", { connection_id: connection.id })
    yield* eventOf(session.id, asked.event_watermark, "delivery.succeeded")
    const requests = yield* MergeRequests
    const answer = yield* requests.open(principal, asked.delivery.id, {
      draft: false,
      title: "Fix the sum",
      ...(care !== undefined && !isOfProject && { care })
    })
    yield* eventOf(session.id, answer.event_watermark, "merge_request.opened")
    const { id } = answer.merge_request
    const get = requests.get(principal, id)
    const { head_branch } = yield* get
    const cares = yield* Cares
    const looks = yield* MergeRequestLooks
    /** The events of a type so far. */
    const told = (type: string) =>
      Effect.map(
        eventsUntil(session.id, 0, (event) => event.type === type),
        (events) => events.filter((event) => event.type === type)
      )
    return {
      cares,
      connection,
      gateway,
      get,
      id,
      looks,
      model,
      origin,
      principal,
      requests,
      say,
      session,
      told,
      forge: origin.forge,
      head: () => origin.headOf(head_branch) ?? "",
      branch: head_branch,
      care: cares.get(principal, id),
      attentions: Effect.map(cares.attentions(principal, id, { limit: 200 }), ({ items }) => items),
      ring: looks.look(principal, id)
    }
  })
