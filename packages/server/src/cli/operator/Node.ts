import { argument, command, entry, flag, group } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJsonNow, tell } from "@reins/cli/terminal/Output"
import { table } from "@reins/cli/terminal/Table"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Database } from "@reins/core/store/Database"
import { pending } from "@reins/core/store/Migrations"
import { Effect } from "effect"
import * as Installation from "./Installation.js"
import { schemaOf } from "./Migrate.js"
import { configOf, installationOptions } from "./Settings.js"

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
    if (pending((yield* schemaOf(config)).schema).length > 0)
      return yield* new CommandFailed({ message: "The schema is not up to date: run reins migrate first." })
    return yield* Effect.provide(Effect.flatMap(Database, effect), Installation.databaseAsIs(config))
  })

const nodeArgument = argument("node", "The name of a machine")

const list = command({
  takes: { json: flag("json", "A line of JSON for each machine"), ...installationOptions },
  examples: [
    ["reins node list", "The machines, with their sessions"],
    ["reins node list --json | jq -r .name", "Their names alone"]
  ],
  run: ({ json, ...options }) =>
    onDatabase(options, (db) =>
      Effect.gen(function* () {
        const held = yield* NodeRows.held(db)
        const nodes = (yield* NodeRows.list(db)).map((node) => ({ ...node, sessions: held.get(node.name) ?? 0 }))
        if (json) {
          for (const { address, load, name, providers, release, role, sessions, state } of nodes)
            printJsonNow({ name, role, state, release, address, sessions, load, providers })
          return
        }
        const header = ["NODE", "ROLE", "STATE", "RELEASE", "ADDRESS", "SESSIONS", "RUNNING", "AGENTS"]
        const rows = nodes.map(({ address, load, name, providers, release, role, sessions, state }) => [
          name,
          role,
          state,
          release,
          address,
          String(sessions),
          String(load),
          providers.join(",")
        ])
        yield* Effect.sync(() => process.stdout.write(table([header, ...rows])))
      })
    )
})

/** Waits until a node has no session any more, and tells how many are left now and then. */
const untilEmpty = (db: Database["Type"], node: string) =>
  Effect.gen(function* () {
    let told = -1
    while (true) {
      const left = (yield* NodeRows.held(db)).get(node) ?? 0
      if (left === 0) return tell(`${node} has no session any more.`)
      const state = (yield* NodeRows.list(db)).find(({ name }) => name === node)?.state
      if (state !== "draining")
        return yield* new CommandFailed({
          message: `${node} is ${state ?? "forgotten"} and still has ${left} sessions: it gives none away now.`
        })
      if (left !== told) tell(`${node} has ${left} sessions left`)
      told = left
      yield* Effect.sleep("1 second")
    }
  })

const drain = command({
  takes: {
    node: nodeArgument,
    wait: flag("wait", "Return when the machine has no session any more"),
    ...installationOptions
  },
  examples: [
    ["reins node drain runner-1", "Give its sessions away as they come to rest"],
    ["reins node drain runner-1 --wait", "Wait until it has none"]
  ],
  run: ({ node, wait, ...options }) =>
    onDatabase(options, (db) =>
      Effect.gen(function* () {
        if (!(yield* NodeRows.drain(db, node)))
          return yield* new CommandFailed({
            message: `No node of the name ${node} is up. List them with: reins node list`
          })
        tell(
          `${node} takes no more sessions, until it is started again. Its turns end by themselves, and its sessions go to other nodes once they rest.`
        )
        if (wait) return yield* untilEmpty(db, node)
        const held = (yield* NodeRows.held(db)).get(node) ?? 0
        const some = yield* NodeRows.heldBy(db, node, named)
        if (held === 0) return
        const more = held > some.length ? ` and ${held - some.length} more` : ""
        tell(`It still has the files of ${held} sessions, and answers for them: ${some.join(", ")}${more}`)
      })
    )
})

const forget = command({
  takes: { node: nodeArgument, ...installationOptions },
  examples: [
    ["reins node forget runner-1", "Count the files of its sessions as lost"],
    ["reins node list", "See first which machines are gone"]
  ],
  run: ({ node, ...options }) =>
    onDatabase(options, (db) =>
      Effect.gen(function* () {
        const lost = yield* NodeRows.forget(db, node)
        if (lost === undefined)
          return yield* new CommandFailed({
            message: `No node of the name ${node} is gone: it is up, or there is none. List them with: reins node list`
          })
        tell(
          lost === 0
            ? `${node} is forgotten.`
            : `${node} is forgotten, and the files of ${lost} sessions count as lost.`
        )
      })
    )
})

/** `reins node` */
export const node = group(
  entry("list", "List the machines of the installation", list),
  entry("drain", "Give the sessions of a machine to the others", drain),
  entry("forget", "Give up a machine that will not come back", forget)
)
