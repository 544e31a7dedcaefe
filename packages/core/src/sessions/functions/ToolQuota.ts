import { CoreConfig } from "@reins/base/base/CoreConfig"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { OwnTool } from "../../projects/Project.js"
import { Projects } from "../../projects/Projects.js"
import type { SessionRow } from "../rows/SessionRow.js"
import type { FunctionTool } from "./FunctionTool.js"
import { OfferedTools } from "./OfferedTools.js"

/**
 * Gives the function that refuses functions with which the agent of a session would be offered more tools than it may, with `quota_exhausted`. The
 * tools of servers count as their project version allows them.
 */
export const makeToolQuota = Effect.gen(function* () {
  const { offeredTools: limit } = (yield* CoreConfig).limits
  const offered = yield* OfferedTools
  const projects = yield* Projects
  return Effect.fnUntraced(function* (session: SessionRow, functions: ReadonlyArray<FunctionTool>) {
    if (functions.length === 0) return
    const chosen = yield* offered.find(session.id, null)
    const spec = (yield* projects.specOf(session)).tools ?? {}
    // The tool that waits on for a call is always there.
    const own = 1 + (chosen.own ?? spec.own ?? OwnTool.literals).length
    const given = new Set([...chosen.functions, ...functions].map(({ name }) => name)).size
    const servers = (spec.mcp_servers ?? []).map(({ allow, name }) => ({ name, count: allow.length }))
    const ofServers = servers.reduce((sum, { count }) => sum + count, 0)
    const used = own + given + ofServers
    if (used <= limit) return
    const largest = [...servers].sort((a, b) => b.count - a.count).slice(0, 3)
    const named = largest.map(({ count, name }) => `${name} ${count}`).join(", ")
    const which = `${own} of the service, ${given} functions and ${ofServers} of servers${named && ` (${named})`}`
    return yield* new ReinsError({
      code: "quota_exhausted",
      message: `The agent would be offered ${used} tools, and may be offered ${limit}: ${which}. Give fewer functions.`,
      details: { quota: "offered_tools", used, limit }
    })
  })
})
