import { CommandFailed } from "@reins/cli/CommandFailed"
import * as Cluster from "@reins/core/placement/cluster/Cluster"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import { Effect, Layer, type Redacted, Schedule } from "effect"
import type { Config, NodeConfig } from "../../Config.js"
import { requireMail, requireSamePaths } from "./FitForSeveral.js"

/** A server without a name does not share a database with nodes: it would take their sessions for its own. */
export const withoutNodes = Layer.effectDiscard(
  Effect.gen(function* () {
    const living = (yield* NodeRows.list(yield* Database)).filter(({ state }) => isUp(state))
    if (living.length === 0) return
    return yield* new CommandFailed({
      message: `The database belongs to several machines, of which ${living.map(({ name }) => name).join(", ")} are up: give this one a name of its own with --node and --node-address.`
    })
  })
)

/** The connection of a server that was just stopped may be there for a moment. */
const patience = Schedule.intersect(Schedule.spaced("250 millis"), Schedule.recurs(8))

/** A node does not share a database with a server without a name, which would take its sessions. */
const withoutServers = Effect.gen(function* () {
  if (!(yield* Postgres.hasServers(yield* Database))) return
  return yield* new CommandFailed({
    message:
      "A server without --node works on the database: stop it, and start it again with a name (--node) of its own."
  })
}).pipe(Effect.retry(patience))

/** The agents of `local` remember the paths of their machine. A node that has no sessions runs none. */
const requirePaths = ({ dataDir, executors }: Pick<Config, "dataDir" | "executors">, role: NodeConfig["role"]) =>
  role === "api" || executors?.includes("local") !== true
    ? Effect.void
    : Effect.gen(function* () {
        const db = yield* Database
        const living = (yield* NodeRows.list(db)).filter(({ role, state }) => role !== "api" && isUp(state))
        yield* requireSamePaths(db, { dataDir, isFirst: living.length === 0 })
      })

const isUp = (state: string): boolean => state === "active" || state === "draining"

/** One connection renews the lease and one looks nodes up; the others stand in for those that are stuck. */
const leaseConnections = 4

/** One of several machines on a PostgreSQL. */
export const amongNodes = (
  { address, leaseSeconds, name, reclaimSeconds, role }: NodeConfig,
  config: Pick<Config, "dataDir" | "executors" | "smtpUrl">,
  url: Redacted.Redacted
) => {
  return Layer.unwrapEffect(
    Effect.as(
      Effect.all([requireMail(config), withoutServers, requirePaths(config, role)], { discard: true }),
      Cluster.layer({
        name,
        address: address.href,
        role,
        leases: Postgres.layerAsIs(url, { connections: leaseConnections }),
        ttlMs: leaseSeconds * 1000,
        reclaimMs: reclaimSeconds * 1000
      })
    )
  )
}
