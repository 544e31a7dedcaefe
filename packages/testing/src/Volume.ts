/** True under `npm run soak`, which runs all random and long tests in full. `npm test` and CI run a share of them. */
export const isSoak = process.env["REINS_SOAK"] === "1"

export const share = <A>(some: A, all: A): A => (isSoak ? all : some)

/** Generated requests to every operation, on both databases together. */
export const fuzzRequests = share(3200, 20_000)

/** The seed of those requests: always the same in `npm test`, another one each time in a soak. The name of the test tells it. */
export const fuzzSeed = Number(process.env["REINS_FUZZ_SEED"] ?? share(20_260_131, Date.now() % 1_000_000_000))

/** Editors that are lost in the middle of turns. */
export const cuts = share(6, 200)

/** Calls of a hook that nothing proves. */
export const hookCalls = share(300, 10_000)

/** Deliveries that five callers bring to a hook 25 times at once, for each database. */
export const hookStorms = share(5, 50)

/** Turns of care during which somebody else pushes to the same branch, for each database. */
export const careTurns = share(6, 50)

/** The time for which each race with a program that exchanges a path goes on, in seconds. It goes on beyond that until it has seen enough. */
export const raceSeconds = share(1, 30)

/** The time that a test of such a race may take, in milliseconds. */
export const raceTimeout = (raceSeconds * 2 + 60) * 1000

/** The number of random walks through the models of state machines, for each database. */
export const walks = {
  jobs: share(20, 400),
  leases: share(10, 1000),
  changesets: share(10, 200),
  connections: share(15, 400),
  delegations: { SQLite: share(50, 1500), PostgreSQL: share(15, 500) },
  budgets: { SQLite: share(60, 2000), PostgreSQL: share(15, 500) },
  snapshots: share(6, 150),
  sessions: { SQLite: share(25, 600), PostgreSQL: share(10, 250) }
}

/** The steps of filling and of dropping an object store at which a process is killed, each. */
export const storeKills = share(4, 50)

/** Random workspaces whose captured tree is compared with the one that git makes by hand. */
export const stagedTrees = share(8, 500)

/** Random sparse workspaces whose captured tree is compared with the one that git makes by hand. */
export const sparseTrees = share(8, 500)

/** Random schemas of results and of functions, and as many that may be wrong. */
export const randomSchemas = share(60, 500)

/** Changesets of an agent that has a skill, for each database. */
export const skilledChangesets = share(10, 100)

/** Answers to calls of functions that meet the deadline of their call, for each database. */
export const answersAtDeadlines = share(40, 1000)

/** The calls that 25 clients claim at once, one after the other, for each database. */
export const claimedCalls = { SQLite: 100, PostgreSQL: share(20, 100) }

/** The forges before which the loop to merged is tried, by the database: PostgreSQL has another rest of it, so it gets one of them. */
export const forgesOn = (database: string): ReadonlyArray<"github" | "gitlab" | "gitea"> =>
  database === "SQLite" || isSoak ? ["github", "gitlab", "gitea"] : ["gitea"]
