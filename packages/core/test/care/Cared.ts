import { join } from "node:path"
import { it, layer } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { now } from "@reins/base/domain/Timestamp"
import * as Memberships from "@reins/core/access/Memberships"
import * as Core from "@reins/core/Core"
import { Cares } from "@reins/core/care/Cares"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import * as Embedded from "@reins/core/Embedded"
import { PasswordCost } from "@reins/core/identity/Passwords"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import { Projects } from "@reins/core/projects/Projects"
import { MergeRequestLooks } from "@reins/core/requests/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { Messages } from "@reins/core/sessions/Messages"
import type { Session } from "@reins/core/sessions/rows/Session"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { eventOf, eventsUntil, forgeConnection, remote, remoteIn } from "@reins/testing/changes/Fixture"
import { onOwnPort } from "@reins/testing/connections/Loopback"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { newAccount } from "@reins/testing/identity/Identity"
import { beginning, databaseIn } from "@reins/testing/store/Beginning"
import type { databases } from "@reins/testing/store/Databases"
import { Context, Effect, Layer, Logger, LogLevel, type Scope } from "effect"
import { type ChatMessage, type Gateway, type Step, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { describe } from "vitest"
import { isTurnEnd, temporaryDirectory } from "../execution/Agent.js"
import { until } from "../requests/Watched.js"

/** The secret that must appear nowhere. */
export const canary = "canary-Zq8rT2vX5nB7mK1p"

/** The steps of the model for the messages of care, and for those of people. Without the latter it makes `ONE` of a file. */
export interface Model {
  onCare: (prompt: string) => Array<Step>
  onPerson?: ((prompt: string) => Array<Step>) | undefined
}

/** A merge request to be: a session whose agent has worked, and the delivery of its work. */
interface Delivered {
  readonly kind: KnownForge
  readonly connection: Effect.Effect.Success<ReturnType<typeof forgeConnection>>
  readonly session: Session
  readonly deliveryId: string
}

/** The scripted model of an installation. What its directory has already delivered waits in `begun`, each for one test. */
export class Scripted extends Context.Tag("test/Scripted")<
  Scripted,
  {
    readonly model: Model
    readonly gateway: Gateway
    readonly root: string
    readonly begun: Array<Delivered>
  }
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

/** The one gateway of this process, so that its address stays the same, and the model that answers now. */
const answering: { model: Model; gateway: Promise<Gateway> | undefined } = {
  model: { onCare: () => [] },
  gateway: undefined
}

const openGateway = (model: Model) =>
  Effect.promise(() => {
    answering.model = model
    answering.gateway ??= startGateway({ apiKey: canary, plan: (messages) => planOf(answering.model)(messages) })
    return answering.gateway
  })

/** An installation with a scripted model behind the small agent, in a directory. */
const installationIn = (root: string, database: Layer.Layer<Database | Bell>, begun: ReadonlyArray<Delivered> = []) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const model: Model = { onCare: () => [{ say: "Nothing." }] }
      const gateway = yield* openGateway(model)
      return Core.worker.pipe(
        Layer.provideMerge(Core.layerWith({ manifests: smallAgents })),
        Layer.provideMerge(
          Layer.mergeAll(
            CoreConfig.layer({
              dataDir: join(root, "data"),
              executors: [testExecutor],
              allowPrivateHosts: ["127.0.0.1"],
              maxRunningTurns: 4,
              agentFreeMemory: 0,
              prewarm: false,
              ...(process.env["REINS_CACHE_DIR"] !== undefined && { cacheDir: process.env["REINS_CACHE_DIR"] })
            }),
            database,
            Boot.layerSingle,
            Layer.succeed(Scripted, { model, gateway, root, begun: [...begun] })
          )
        )
      )
    })
  ).pipe(Layer.provide([Logger.minimumLogLevel(LogLevel.Error), PasswordCost.layerTest]))

/** The same for all tests of a suite, in a directory of its own. */
export const installation = (database: Layer.Layer<Database | Bell>) =>
  Layer.unwrapScoped(Effect.map(temporaryDirectory, (root) => installationIn(root, database)))

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

/** A session whose agent has worked, on a repository of a forge, and the delivery of its work. */
const deliver = (kind: KnownForge, origin: Origin, care?: CareInput) =>
  Effect.gen(function* () {
    const { gateway } = yield* Scripted
    const { principal, workspaceId } = yield* Embedded.owner
    const connections = yield* Connections
    const made = yield* connections.create(principal, workspaceId, {
      kind: "alpha_gateway",
      label: "scripted",
      credential: { base_url: gateway.url, api_key: canary }
    })
    yield* connections.update(principal, made.id, { preferred_model: "scripted-1" })
    const connection = yield* forgeConnection(kind, origin.base)
    const project =
      care === undefined
        ? undefined
        : yield* (yield* Projects).create(principal, workspaceId, {
            slug: `cared-${newestProject++}`,
            name: "Cared for",
            spec: { delivery: { care } }
          })
    const session = yield* (yield* Sessions).create(principal, workspaceId, {
      ...(project !== undefined && { project_id: project.id }),
      title: "Fix the sum",
      connection_id: made.id,
      repository: { url: origin.url }
    })
    yield* say(session.id, "Begin.")
    const [changeset] = (yield* (yield* Changesets).list(principal, session.id, {})).items
    const deliveries = yield* Deliveries
    const asked = yield* deliveries.request(principal, changeset?.id ?? "", { connection_id: connection.id })
    yield* eventOf(session.id, asked.event_watermark, "delivery.succeeded")
    return { kind, connection, session, deliveryId: asked.delivery.id }
  })

/** Sends a message and waits for the end of its turn. */
const say = (sessionId: SessionId, content: string) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const { turn_id } = yield* (yield* Messages).send(principal, sessionId, { content })
    const events = yield* eventsUntil(sessionId, 0, (event) => event.turn_id === turn_id && isTurnEnd(event))
    return events.at(-1)
  })

/** The repository of a test's directory with its forge, at the address that all tests of this process have for it. */
const begunOrigin = (root: string, kind: KnownForge) => remoteIn(join(root, kind), kind, onOwnPort(kind))

/** An installation that has delivered the work of an agent to each kind of forge. */
const delivered = beginning((root) =>
  Effect.forEach(["github", "gitlab", "gitea"] as const, (kind) =>
    Effect.flatMap(begunOrigin(root, kind), (origin) => deliver(kind, origin))
  ).pipe(Effect.provide(installationIn(root, databaseIn(root))), Effect.orDie)
)

/** Services that a test of a flow asks its suite for. */
interface Flows {
  readonly scoped: <A, E>(
    name: string,
    test: () => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof installation>> | Scope.Scope>,
    timeout?: number
  ) => void
}

/** Tests on installations that have delivered before. On PostgreSQL they share one, and deliver anew. */
export const flowsOn = (database: (typeof databases)[number]) => (title: string, define: (it: Flows) => void) => {
  if (database.name !== "SQLite")
    return layer(installation(database.layer), { excludeTestServices: true })(title, define)
  const begun = Layer.unwrapScoped(
    Effect.map(delivered, ({ made, root }) => installationIn(root, databaseIn(root), made))
  )
  describe(title, () =>
    define({
      scoped: (name, test, timeout) =>
        it.scopedLive(name, () => Effect.flatMap(Layer.build(begun), (all) => Effect.provide(test(), all)), timeout)
    })
  )
}

/** The delivery of this test's installation to such a forge, once for each test, or one that is made now. */
const take = (kind: KnownForge) =>
  Effect.gen(function* () {
    const { begun, root } = yield* Scripted
    const at = begun.findIndex((delivered) => delivered.kind === kind)
    const [found] = at < 0 ? [] : begun.splice(at, 1)
    return found && { ...found, origin: yield* begunOrigin(root, kind) }
  })

/** An open merge request of a session whose agent has made it, on a forge that `prepare` gets first. */
export const opened = <R = never>(
  kind: KnownForge,
  care?: CareInput,
  isOfProject = false,
  prepare?: (origin: Origin) => Effect.Effect<unknown, never, R>
) =>
  Effect.gen(function* () {
    const { gateway, model } = yield* Scripted
    // An earlier test may have set it.
    model.onPerson = undefined
    const { principal } = yield* Embedded.owner
    const anew = Effect.gen(function* () {
      const origin = yield* remote(kind)
      if (prepare !== undefined) yield* prepare(origin)
      return { ...(yield* deliver(kind, origin, isOfProject ? (care ?? {}) : undefined)), origin }
    })
    const isUsual = prepare === undefined && !isOfProject
    const { connection, deliveryId, origin, session } = (isUsual ? yield* take(kind) : undefined) ?? (yield* anew)
    const requests = yield* MergeRequests
    const answer = yield* requests.open(principal, deliveryId, {
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
      say: (content: string) => say(session.id, content),
      session,
      told,
      forge: origin.forge,
      head: () => origin.headOf(head_branch) ?? "",
      branch: head_branch,
      care: cares.get(principal, id),
      attentions: Effect.map(cares.attentions(principal, id, { limit: 200 }), ({ items }) => items),
      ring: looks.look(principal, id),
      /** Waits for the look that it asks for. */
      look: Effect.gen(function* () {
        const { asked_at } = yield* looks.look(principal, id)
        yield* until(get, (request) => (request.observed_at ?? "") >= asked_at)
      })
    }
  })
