import type { Event } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import type { ProjectSpec } from "@reins/core/projects/Project"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Effect } from "effect"
import type { withAgent } from "../execution/Agent.js"

type Body = Parameters<typeof withAgent<unknown, unknown, unknown>>[1]

/** A command of a setup that is a line of a shell. */
export const sh = (name: string, line: string) => ({ name, argv: ["sh", "-c", line] })

const hasEnded = ({ type }: Event) => type === "workspace.restored" || type === "setup.failed"

/** The way from a spec to sessions with a workspace, in an installation of `withAgent`. */
export const setups = Effect.fnUntraced(function* ({
  dataDir,
  eventsUntil,
  principal,
  workspaceId
}: Pick<Parameters<Body>[0], "dataDir" | "eventsUntil" | "principal" | "workspaceId">) {
  const projects = yield* Projects
  const sessions = yield* Sessions
  const executors = yield* SessionExecutors
  let count = 0
  const session = (projectId: string) =>
    Effect.map(sessions.create(principal, workspaceId, { project_id: projectId as never }), ({ id }) => id)
  return {
    project: (spec: ProjectSpec) =>
      Effect.map(
        projects.create(principal, workspaceId, { slug: `p-${++count}`, name: "A project", spec }),
        ({ id }) => id
      ),
    session,
    /** Activates a session, and gives its events up to the end of its setup. */
    activated: Effect.fnUntraced(function* (id: SessionId) {
      const { operation } = yield* executors.activate(principal, id, {})
      return { operationId: operation.id, events: yield* eventsUntil(id, hasEnded) }
    }),
    pathsOf: (id: SessionId) => sessionPaths(dataDir, id)
  }
})

/** The events of setups with what tells them apart: the type, and whether a snapshot was used. */
export const setupEnds = (events: ReadonlyArray<Event>) =>
  events.flatMap((event) =>
    event.type === "setup.succeeded" || event.type === "setup.failed"
      ? [`${event.type} ${event.payload.from_snapshot ? "by copy" : "by commands"}`]
      : []
  )

/** All that the commands have written, as events tell it. */
export const outputOf = (events: ReadonlyArray<Event>): string =>
  events.flatMap((event) => (event.type === "setup.progressed" ? [event.payload.output] : [])).join("")
