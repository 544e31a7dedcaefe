import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** The parts of a tool that a model is told of, and that decide how it is called. */
export interface PinnedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
  readonly is_read_only: boolean
}

/** SHA-256 of the parts of a tool that are pinned, in canonical JSON. */
export const pinOf = ({ description, input_schema, is_read_only, name }: PinnedTool): string =>
  digestOf(canonicalJson({ name, description, input_schema, is_read_only }))

/** The tools of a server as a version of a project has seen them first. */
export const toolPins = Effect.map(Database, ({ all, run, sql }) => ({
  /** The pinned tools of a server by their names. */
  find: (versionId: string, server: string): Effect.Effect<ReadonlyMap<string, PinnedTool>> =>
    Effect.map(
      all(sql<{ tool: string; definition: string }>`select tool, definition from project_tool_pins
        where version_id = ${versionId} and server = ${server}`),
      (rows) => new Map(rows.map(({ definition, tool }): [string, PinnedTool] => [tool, JSON.parse(definition)]))
    ),
  /** Pins tools that have no pin yet. The first pin of a tool stays. */
  add: (versionId: string, server: string, tools: ReadonlyArray<PinnedTool>): Effect.Effect<void, never, Commit> =>
    Effect.forEach(
      tools,
      (tool) => {
        const definition = JSON.stringify(tool)
        const row = { version_id: versionId, server, tool: tool.name, digest: pinOf(tool), definition }
        return run(sql`insert into project_tool_pins ${sql.insert(row)} on conflict do nothing`)
      },
      { discard: true }
    )
}))
