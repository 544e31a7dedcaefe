import { fn } from "@reins/base/base/Traced"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import type { OwnTool } from "../../projects/Project.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { ResultSchemas } from "../results/ResultSchemas.js"
import type { FunctionTool, SessionTools } from "./FunctionTool.js"

/** The tools that somebody has chosen for a session, or for one turn of it. */
export interface ChosenTools {
  /** The names of the tools of the service; null for all. */
  readonly own: ReadonlyArray<OwnTool> | null
  readonly functions: ReadonlyArray<FunctionTool>
}

/** Who has chosen tools: a session, or a turn of it. */
interface Owner {
  readonly id: string
  readonly session_id: string
}

/** The tools of sessions and turns, as rows. A session and a turn for which nobody has chosen any has no row. */
export class OfferedTools extends Context.Tag("@reins/core/sessions/functions/OfferedTools")<
  OfferedTools,
  {
    /** Fails, at a place of the request, unless each schema of an input is a JSON Schema that refers to nothing outside of itself. */
    readonly check: (tools: SessionTools | undefined, loc: ReadonlyArray<string>) => Effect.Effect<void, RequestInvalid>
    /** Stores the tools of a new session or turn. */
    readonly choose: (owner: Owner, tools: SessionTools) => Effect.Effect<void, never, Commit>
    /** Gives a new session or turn the tools of another one. `own` leaves the functions out. */
    readonly copy: (from: string, to: Owner, which: "all" | "own") => Effect.Effect<void, never, Commit>
    /** The tools of a session in one of its turns. */
    readonly find: (sessionId: string, turnId: string | null) => Effect.Effect<ChosenTools>
  }
>() {
  static readonly layer = Layer.effect(
    OfferedTools,
    Effect.gen(function* () {
      const db = yield* Database
      const schemas = yield* ResultSchemas
      const { sql } = db

      const rowOf = (id: string) =>
        Effect.map(db.first(sql<ToolsRow>`select * from offered_tools where owner_id = ${id}`), (row) =>
          row === undefined ? undefined : toChosen(row)
        )
      const insert = (owner: Owner, { functions, own }: ChosenTools) =>
        db.run(
          sql`insert into offered_tools ${sql.insert({
            owner_id: owner.id,
            session_id: owner.session_id,
            own: own === null ? null : JSON.stringify(own),
            functions: JSON.stringify(functions)
          })}`
        )

      return OfferedTools.of({
        check: (tools, loc) =>
          Effect.forEach(
            tools?.functions ?? [],
            ({ input_schema }, index) =>
              schemas.checkSchema(input_schema, [...loc, "functions", String(index), "input_schema"]),
            { discard: true }
          ),
        choose: (owner, { functions = [], own = null }) => insert(owner, { own, functions }),
        copy: fn("OfferedTools.copy")(function* (from, to, which) {
          const found = yield* rowOf(from)
          if (found !== undefined) yield* insert(to, which === "all" ? found : { ...found, functions: [] })
        }),
        find: fn("OfferedTools.find")(function* (sessionId, turnId) {
          const ofSession = (yield* rowOf(sessionId)) ?? { own: null, functions: [] }
          const ofTurn = turnId === null ? undefined : yield* rowOf(turnId)
          if (ofTurn === undefined) return ofSession
          const names = new Set(ofTurn.functions.map(({ name }) => name))
          const kept = ofSession.functions.filter(({ name }) => !names.has(name))
          return { own: ofSession.own, functions: [...kept, ...ofTurn.functions] }
        })
      })
    })
  )
}

interface ToolsRow {
  readonly own: string | null
  readonly functions: string
}

const toChosen = ({ functions, own }: ToolsRow): ChosenTools => ({
  own: own === null ? null : JSON.parse(own),
  functions: JSON.parse(functions)
})
