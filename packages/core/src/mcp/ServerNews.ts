import type { NewEvent } from "@reins/base/domain/Event"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { Journal } from "../store/Journal.js"
import type { Look } from "./ServerLooks.js"

const actor = systemActor("mcp")

/** The most servers of sessions that are remembered. */
const mostKnown = 10_000

/** Tells sessions of servers that cannot be used as their project names them, once for each change. */
export const serverNews = Effect.map(Journal, (journal) => {
  const told = new Map<string, string>()
  return Effect.fnUntraced(function* (session: SessionRow, server: string, look: Look) {
    const event = eventOf(server, look)
    const words = event === undefined ? "" : JSON.stringify(event)
    const key = `${session.id} ${server}`
    if ((told.get(key) ?? "") === words) return
    if (told.size >= mostKnown) told.clear()
    told.set(key, words)
    if (event === undefined) return
    const turn = session.turns.active
    const subjects = turn === null ? {} : { subjects: { turn_id: turn.id } }
    yield* journal.commit(journal.append(session.id, actor, [{ ...event, ...subjects }]))
  })
})

const eventOf = (server: string, { problem, tools }: Look): NewEvent | undefined => {
  if (problem !== null) return { type: "mcp.server_unavailable", payload: { server, reason: problem } }
  const changed = tools.flatMap(({ name, standing }) => (standing === "changed" ? [name] : []))
  return changed.length === 0 ? undefined : { type: "mcp.tools_changed", payload: { server, tools: changed } }
}
