import { systemActor } from "@reins/core/access/Access"
import { ServerLooks } from "@reins/core/mcp/ServerLooks"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import type { ProjectServer } from "@reins/core/projects/ProjectServer"
import { Projects } from "@reins/core/projects/Projects"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { ToolSources } from "@reins/core/tools/ToolSources"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { Effect, Redacted, Schedule } from "effect"

/** The secret of the project, which no agent has. */
export const key = "canary-Zq8rT2vX5nB7mK1p"

const runner = systemActor("runner")

/** A project that names a server, with its key unless it is to be missing. */
export const project = Effect.fnUntraced(function* (server: ProjectServer, hasKey = true, slug = "shop") {
  const owner = yield* ownerWithConnection
  const projects = yield* Projects
  const made = yield* projects.create(owner.principal, owner.workspaceId, {
    slug,
    name: "Shop",
    spec: { tools: { mcp_servers: [server] } }
  })
  const putKey = (yield* ProjectSecrets).put(owner.principal, made.id, "LAB_KEY", Redacted.make(key))
  if (hasKey) yield* putKey
  return { ...owner, project: made, putKey }
})

type Given = Effect.Effect.Success<ReturnType<typeof project>>

/** A turn of a session of the project that runs, and what its agent does. */
export const begin = Effect.fnUntraced(function* ({ principal, project, workspaceId }: Given) {
  const journal = yield* Journal
  const store = yield* TurnStore
  const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
  const sent = yield* (yield* Messages).send(principal, session.id, { content: "Triage it." })
  const found = yield* store.find(sent.turn_id ?? "")
  if (found === undefined) return yield* Effect.dieMessage("there is no turn")
  for (const to of ["preparing", "running"] as const) yield* journal.commit(store.move(found.id, to, runner))
  const row = yield* Effect.map((yield* SessionStore).find(session.id), (row) => row ?? undefined)
  if (row === undefined) return yield* Effect.dieMessage("there is no session")
  const call = yield* (yield* ToolRuns).of(row, found)
  let calls = 0
  const sources = yield* ToolSources
  const ledger = yield* CallLedger
  const interactions = yield* Interactions
  const pending = Effect.map(interactions.list(principal, session.id, { state: "pending" }), ({ items }) => items[0])
  return {
    session,
    offer: sources.offerOf(row),
    offered: Effect.map(sources.offerOf(row), (offer) =>
      offer?.servers.map(({ name, tools }) => [name, ...tools.map((tool) => tool.name)].join(" "))
    ),
    call: (tool: string, input: unknown = {}) =>
      call({ server: "lab", tool, call_id: `call-${++calls}`, input, hears_progress: true }),
    records: Effect.map(ledger.list(found.id, { limit: 100 }), ({ items }) => items),
    asked: Effect.repeat(pending, {
      until: (found) => found !== undefined,
      schedule: Schedule.spaced("25 millis")
    }).pipe(Effect.zipRight(pending)),
    answer: (id: string, answer: string) => interactions.answer(principal, id, { answer })
  }
})

/** The events about servers of a session, as they are stored. */
export const newsOf = (sessionId: string) =>
  Effect.flatMap(Database, ({ all, sql }) =>
    Effect.map(
      all(sql<{ type: string; envelope: string }>`select type, envelope from events
        where session_id = ${sessionId} and type like ${"mcp.%"} order by seq`),
      (rows) => rows.map(({ envelope, type }) => [type, JSON.parse(envelope).payload])
    )
  )

/** Forgets what was seen of servers, as a minute does. */
export const look = (given: Given, server: ProjectServer) =>
  Effect.gen(function* () {
    const versionId = given.project.latest_version?.id
    if (versionId === undefined) return yield* Effect.dieMessage("there is no version")
    const version = { workspaceId: given.workspaceId, projectId: given.project.id, versionId }
    return yield* (yield* ServerLooks).fresh(version, server)
  })
