import type { ProjectVersionId } from "@reins/base/domain/Ids"
import { notFound } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { ownerOf } from "../connections/PersonalConnections.js"
import { isSameServer } from "../grants/ServerUrl.js"
import type { Database } from "../store/Database.js"
import type { ProjectSpec } from "./Project.js"

/**
 * Fails, at its place in the request, for a connection of a server that gives no tokens for that server. A token is sent to the server that its
 * connection names, and to no other that a spec names.
 */
export const requireServerConnections = Effect.gen(function* () {
  const kinds = yield* ConnectionKinds
  const store = yield* ConnectionStore
  return Effect.fnUntraced(function* (workspaceId: string, { tools }: ProjectSpec) {
    for (const [index, { connection_id, url = "" }] of (tools?.mcp_servers ?? []).entries()) {
      if (connection_id === undefined) continue
      const found = yield* store.find(connection_id)
      if (found === undefined || found.workspace_id !== workspaceId) return yield* notFound()
      const settings: Readonly<Record<string, string>> = JSON.parse(found.settings)
      const problem =
        kinds.find(found.kind)?.grant === undefined
          ? "the connection gives no tokens: name one of the kind mcp_oauth"
          : ownerOf(settings) !== undefined
            ? "the connection is of one person: leave it out, and give the server `login`: `person`"
            : isSameServer(settings["server_url"] ?? "", url)
              ? undefined
              : "the connection is for another server: its server_url is not the url of this one"
      if (problem !== undefined) return yield* refused(index, connection_id, problem)
    }
  })
})

/** Those of some versions whose servers name a connection. */
export const versionsNaming = (
  { all, sql }: Database["Type"],
  connectionId: string,
  versionIds: ReadonlyArray<ProjectVersionId>
): Effect.Effect<ReadonlySet<ProjectVersionId>> =>
  versionIds.length === 0
    ? Effect.succeed(new Set())
    : Effect.map(
        all(sql<{ id: ProjectVersionId }>`select id from project_versions
          where ${sql.in("id", [...new Set(versionIds)])} and spec like ${`%"connection_id":"${connectionId}"%`}`),
        (rows) => new Set(rows.map(({ id }) => id))
      )

const refused = (index: number, input: string, problem: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "spec", "tools", "mcp_servers", String(index), "connection_id"],
    issue: new ParseResult.Type(Schema.Unknown.ast, input, problem),
    input
  })
