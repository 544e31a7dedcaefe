import { join } from "node:path"
import { isSoak, share } from "@reins/testing/Volume"

/** Random tests go on for so many milliseconds after they have had their volume. */
export const soakMs = Number(process.env["REINS_SOAK_MINUTES"] ?? "0") * 60_000

/** The seed of what is random. It is printed, and a run with it is the same run. */
export const seed = Number(process.env["REINS_CHAOS_SEED"] ?? Date.now() % 1_000_000)

/** An agent that costs next to nothing, for tests that are about the beginning of many turns. */
export const lightAgent = join(import.meta.dirname, "agent/agent.mjs")

/** Alpha's own agent takes five seconds of a processor for a turn: in CI another one does where the agent is not what is proved. */
export const agent = isSoak ? undefined : lightAgent

/** After how long without a word the work of a server is taken over; a soak keeps to the product's own times. */
export const leaseSeconds = share(8, 30)

/** The time between two beats of an event stream, and the time that a request has to arrive. */
export const heartbeatSeconds = share(4, 15)
export const requestSeconds = share(15, 120)

/** The model calls of real agents whose usage is compared with what their gateway said. */
export const meteredCalls = share(100, 1000)

/** The runs whose budgets are compared with what the gateway said, each killed once. */
export const budgetedRuns = share(8, 200)

/** The turns of each agent that asks a person before it acts. */
export const askedTurns = share(3, 100)

/** The kills at each point of a delivery onto the head of its branch. */
export const followUpKills = share(1, 17)

/** The kills at each point of a series. `REINS_SERIES_KILLS` is another number of them. */
export const seriesKills = Number(process.env["REINS_SERIES_KILLS"] ?? share(1, 50))

export const randomKills = share(15, 100)

/** The events of a storm, the kills in it, and how many readers follow it, as parts of each kind of reader. */
export const storms = {
  SQLite: { events: share(2000, 10_000), kills: share(2, 5), readers: share(20, 50) },
  PostgreSQL: { events: share(600, 2000), kills: share(1, 2), readers: share(10, 20) }
}

/** The same of the stream of a workspace, whose events are those of so many sessions. */
export const workspaceStorms = {
  SQLite: { events: share(1000, 10_000), sessions: 20, kills: share(2, 5), readers: share(10, 50) },
  PostgreSQL: { events: share(400, 2000), sessions: 20, kills: share(1, 2), readers: share(5, 20) }
}

/** The deliveries of webhooks, the sessions that they are of, and how often the server and the receiver are killed meanwhile. */
export const deliveries = {
  SQLite: { events: share(800, 10_000), sessions: 8, kills: share(2, 10) },
  PostgreSQL: { events: share(400, 4000), sessions: 8, kills: share(1, 5) }
}

/** The times of automations that come while servers are killed, on each database. */
export const occurrences = share(40, 1000)

/** The kills of each server meanwhile. */
export const mostKills = share(4, 100)
