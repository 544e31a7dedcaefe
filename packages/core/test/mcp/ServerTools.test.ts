import { assert, describe, it } from "@effect/vitest"
import { systemActor } from "@reins/core/access/Access"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { EventFeed } from "@reins/core/events/EventFeed"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import { serverBounds } from "@reins/core/mcp/ServerClient"
import { ServerLinks } from "@reins/core/mcp/ServerLinks"
import { ServerLooks } from "@reins/core/mcp/ServerLooks"
import { Projects } from "@reins/core/projects/Projects"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import type { ToolServer } from "@reins/core/projects/ToolServer"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { ToolSources } from "@reins/core/tools/ToolSources"
import { type McpServer, mcpServer } from "@reins/testing/mcp/McpServer"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Fiber, Redacted, Schedule, Stream } from "effect"

const key = "canary-Zq8rT2vX5nB7mK1p"
const runner = systemActor("runner")

const serverOf = ({ url }: McpServer, more: Partial<ToolServer> = {}): ToolServer => ({
  name: "lab",
  url,
  headers: { Authorization: { secret: "LAB_KEY", prefix: "Bearer " } },
  allow: ["get_issue", "add_comment"],
  permissions: { add_comment: "ask" },
  ...more
})

/** A project that names a server, with its key unless it is to be missing. */
const project = Effect.fnUntraced(function* (server: ToolServer, hasKey = true) {
  const owner = yield* ownerWithConnection
  const projects = yield* Projects
  const made = yield* projects.create(owner.principal, owner.workspaceId, {
    slug: "shop",
    name: "Shop",
    spec: { tools: { mcp_servers: [server] } }
  })
  const putKey = (yield* ProjectSecrets).put(owner.principal, made.id, "LAB_KEY", Redacted.make(key))
  if (hasKey) yield* putKey
  return { ...owner, project: made, putKey }
})

/** A turn of a session of the project that runs, and what its agent does. */
const begin = Effect.fnUntraced(function* ({ principal, project, workspaceId }: Effect.Effect.Success<ReturnType<typeof givenOf>>) {
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
      schedule: Schedule.spaced("5 millis")
    }).pipe(Effect.zipRight(pending)),
    answer: (id: string, option: string) => interactions.answer(principal, id, { option_id: option }),
    events: Effect.map(
      Stream.runCollect(
        Stream.takeUntil((yield* EventFeed).stream(principal, session.id, { after: 0 }), ({ seq }) => seq >= 1_000)
      ).pipe(Effect.timeoutOption("300 millis")),
      () => undefined
    )
  }
})
const givenOf = project
