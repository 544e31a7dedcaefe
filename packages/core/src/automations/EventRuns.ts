import { Effect } from "effect"
import type { Follower, FollowerFilter } from "../events/Follower.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { WorkspaceEntry } from "../store/WorkspaceLog.js"
import type { EventTrigger } from "./Automation.js"
import { type AutomationRow, AutomationStore, triggerOf } from "./AutomationStore.js"
import { holds } from "./Filters.js"
import { makeOccur } from "./Occurring.js"
import { makeRunStart } from "./RunStart.js"
import { type RunRow, RunStore } from "./RunStore.js"

/** The name of the rows of this follower. */
export const automationsFollower = "automations"

/** The runs of a chain in which each is made due by an event of the one before. */
const mostDepth = 3

/** The delegations upwards that are looked at for the run which an event comes from. */
const mostParents = 8

/** The key of an automation whose trigger began with a generation. Another generation reads from a position of its own. */
export const followerKey = ({ generation, id }: Pick<AutomationRow, "generation" | "id">): string =>
  `${id}:${generation}`

/** Makes the runs of automations that events make due. The key is an automation with its generation. */
export const eventRuns = Effect.gen(function* () {
  const store = yield* AutomationStore
  const take = yield* makeTake

  return {
    name: automationsFollower,
    list: Effect.map(store.following, (rows) =>
      rows.map((row) => ({ key: followerKey(row), workspaceId: row.workspace_id }))
    ),
    begin: Effect.fnUntraced(function* (key) {
      const id = key.slice(0, key.lastIndexOf(":"))
      const row = yield* store.find(id)
      const trigger = row && followed(row, key)
      return trigger && { filter: filterOf(trigger), take: (events) => take(id, key, events) }
    })
  } satisfies Follower
})

/** The trigger of an automation that is followed under a key. Undefined once it is paused or has another one. */
const followed = (row: AutomationRow, key: string): EventTrigger | undefined => {
  const trigger = triggerOf(row)
  return row.state === "active" && followerKey(row) === key && trigger.kind === "event" ? trigger : undefined
}

const filterOf = ({ label, project_id, types }: EventTrigger): FollowerFilter => {
  const end = label?.indexOf("=") ?? 0
  return {
    types,
    projectId: project_id,
    label: label === undefined ? undefined : { name: label.slice(0, end), value: label.slice(end + 1) }
  }
}

/** Gives the function that makes the runs of some events, in the commit that moves the position of the automation. */
const makeTake = Effect.gen(function* () {
  const store = yield* AutomationStore
  const originOf = yield* makeOriginOf
  const occur = yield* makeOccur
  const { skip } = yield* makeRunStart

  return Effect.fnUntraced(function* (id: string, key: string, events: ReadonlyArray<WorkspaceEntry>) {
    if (events.length === 0) return
    const held = yield* store.lock(id)
    const trigger = held && followed(held.row, key)
    if (held === undefined || trigger === undefined) return
    for (const { envelope } of events) {
      const event = JSON.parse(envelope)
      if (!(trigger.filter ?? []).every((condition) => holds(condition, event))) continue
      const origin = yield* originOf(event)
      const occurrence = { kind: "event", due_at: event.recorded_at, depth: (origin?.depth ?? 0) + 1 } as const
      if (origin !== undefined && (origin.automation_id === id || origin.depth >= mostDepth)) {
        // One row tells of all events of the run that would go round.
        const loop = { ...occurrence, occurrence: `loop ${origin.id}`, late_seconds: 0 }
        yield* skip(held.row, loop, "loop", loopWords)
        continue
      }
      yield* occur(held.row, { ...occurrence, occurrence: event.id }, event, trigger.pick)
    }
  })
})

const loopWords =
  "The event came from a run of this automation, or from the third run of a chain. It began nothing, so that automations do not start one another without end."

/** The parts of an event that tell where it comes from. */
interface Source {
  readonly session_id: string
  readonly turn_id?: string
}

/**
 * Gives the function that finds the run which an event comes from; undefined for the work of a person. A turn that no run has begun is one of a person.
 * Sessions that a run has made, and those that work for another session, have no such turns.
 */
const makeOriginOf = Effect.gen(function* () {
  const runs = yield* RunStore
  const sessions = yield* SessionStore

  return Effect.fnUntraced(function* ({ session_id, turn_id }: Source) {
    const ofTurn = turn_id === undefined ? undefined : yield* runs.ofTurn(turn_id)
    if (ofTurn !== undefined) return ofTurn
    let id: string | null = session_id
    for (let level = 0; id !== null && level < mostParents; level++) {
      const newest: RunRow | undefined = yield* runs.ofSession(id)
      const session: SessionRow | undefined = yield* sessions.find(id)
      const isOfTurn = level === 0 && turn_id !== undefined
      if (newest !== undefined && (!isOfTurn || (session !== undefined && session.created_at >= newest.created_at)))
        return newest
      id = session?.lineage.parent_session_id ?? null
    }
    return undefined
  })
})
