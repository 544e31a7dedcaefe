import { CoreConfig } from "@reins/base/base/CoreConfig"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema } from "effect"
import { OwnTool, type ProjectSpec } from "./Project.js"
import type { ProjectServer } from "./ProjectServer.js"

/**
 * Fails for a spec that names more servers, or allows more of their tools, than the operator lets it. The error names the place in the request. An
 * agent is offered those tools beside the ones of the service.
 */
export const requireServerQuota = Effect.map(CoreConfig, ({ limits }) => {
  const { offeredTools, serversPerVersion, serverToolsPerVersion } = limits
  return ({ tools = {} }: ProjectSpec): Effect.Effect<void, RequestInvalid> => {
    const servers = tools.mcp_servers ?? []
    if (servers.length > serversPerVersion)
      return refused(
        servers,
        `Input names ${servers.length} servers, and a version names at most ${serversPerVersion}. Name fewer`
      )
    // The tool that waits on for a call is always there.
    const own = 1 + (tools.own ?? OwnTool.literals).length
    const most = Math.min(serverToolsPerVersion, offeredTools - own)
    const count = servers.reduce((sum, { allow }) => sum + allow.length, 0)
    if (count <= most) return Effect.void
    return refused(
      servers,
      `Input allows ${count} tools, and the servers of a version have at most ${most}: ${largestOf(servers)}. Allow fewer`
    )
  }
})

/** The servers with the most tools. */
const largestOf = (servers: ReadonlyArray<ProjectServer>): string =>
  [...servers]
    .sort((one, other) => other.allow.length - one.allow.length)
    .slice(0, 3)
    .map(({ allow, name }) => `${name} ${allow.length}`)
    .join(", ")

const refused = (input: unknown, problem: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "spec", "tools", "mcp_servers"],
    issue: new ParseResult.Type(Schema.Unknown.ast, input, problem),
    input
  })
