import { Args, Command, Options } from "@effect/cli"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Database } from "@reins/core/store/Database"
import { pending } from "@reins/core/store/Migrations"
import { Effect } from "effect"
import { CommandFailed } from "./CommandFailed.js"
import * as Installation from "./Installation.js"
import { stepsOf } from "./Migrate.js"
import { printJsonNow, tell } from "./Output.js"
import { configOf, installationOptions } from "./Settings.js"
import { table } from "./Style.js"

/** The most sessions that are named one by one. */
const named = 20

/** Runs an effect on the database of an installation of several machines, as it is. */
const onDatabase = <A, E>(
  options: Parameters<typeof configOf>[0],
  effect: (db: Database["Type"]) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const config = yield* configOf(options)
    if (config.databaseUrl === undefined)
      return yield* new CommandFailed({
        message: "Several machines share a PostgreSQL database: set REINS_DATABASE_URL."
      })
    if (pending(yield* stepsOf(config)).length > 0)
      return yield* new CommandFailed({ message: "The schema is not up to date: run reins migrate first." })
    return yield* Effect.provide(Effect.flatMap(Database, effect), Installation.databaseAsIs(config))
  })

const nodeArgument = Args.text({ name: "node" }).pipe(Args.withDescription("The name of a node"))

const list = Command.make(
  "list",
  {
    ...installationOptions,
    json: Options.boolean("json").pipe(Options.withDescription("A line of JSON for each node"))
  },
  ({ json, ...options }) =>
    onDatabase(options, (db) =>
      Effect.gen(function* () {
        const held = yield* NodeRows.held(db)
        const nodes = (yield* NodeRows.list(db)).map((node) => ({ ...node, sessions: held.get(node.name) ?? 0 }))
        if (json) {
          for (const { address, load, name, providers, role, sessions, state } of nodes)
            printJsonNow({ name, role, state, address, sessions, load, providers })
          return
        }
        const header = ["NODE", "ROLE", "STATE", "ADDRESS", "SESSIONS", "RUNNING", "AGENTS"]
        const rows = nodes.map(({ address, load, name, providers, role, sessions, state }) => [
          name,
          role,
          state,
          address,
          String(sessions),
          String(load),
          providers.join(",")
        ])
        yield* Effect.sync(() => process.stdout.write(table([header, ...rows])))
      })
    )
).pipe(Command.withDescription("List the machines of the installation"))

const drain = Command.make("drain", { ...installationOptions, node: nodeArgument }, ({ node, ...options }) =>
  onDatabase(options, (db) =>
    Effect.gen(function* () {
      if (!(yield* NodeRows.drain(db, node)))
        return yield* new CommandFailed({
          message: `No node of the name ${node} is up. List them with: reins node list`
        })
      const held = (yield* NodeRows.held(db)).get(node) ?? 0
      const some = yield* NodeRows.heldBy(db, node, named)
      tell(`${node} takes no more sessions, until it is started again. Its turns end by themselves.`)
      if (held === 0) return
      const more = held > some.length ? ` and ${held - some.length} more` : ""
      tell(`It still has the files of ${held} sessions, and answers for them: ${some.join(", ")}${more}`)
    })
  )
).pipe(Command.withDescription("Keep new sessions from a node"))

const forget = Command.make("forget", { ...installationOptions, node: nodeArgument }, ({ node, ...options }) =>
  onDatabase(options, (db) =>
    Effect.gen(function* () {
      const lost = yield* NodeRows.forget(db, node)
      if (lost === undefined)
        return yield* new CommandFailed({
          message: `No node of the name ${node} is gone: it is up, or there is none. List them with: reins node list`
        })
      tell(
        lost === 0 ? `${node} is forgotten.` : `${node} is forgotten, and the files of ${lost} sessions count as lost.`
      )
    })
  )
).pipe(Command.withDescription("Give up a node that will not come back, with the files that it had"))

/** `reins node` */
export const node = Command.make("node").pipe(
  Command.withDescription("The machines of an installation on several"),
  Command.withSubcommands([list, drain, forget])
)
