import type { KnownForge } from "./forge/ForgeDialects.js"

/** True under `npm run soak`, which runs all random and long tests in full. `npm test` and CI run a share of them. */
export const isSoak = process.env["REINS_SOAK"] === "1"

export const share = <A>(some: A, all: A): A => (isSoak ? all : some)

/** The rows of databases and forges that a run has. `npm test` has the first of each, `npm run test:matrix` the others, and a soak all. */
export const rows: "first" | "others" | "all" = isSoak
  ? "all"
  : process.env["REINS_TEST_ROWS"] === "others"
    ? "others"
    : "first"

/** Generated requests to every operation, half of them on each database. */
export const fuzzRequests = share(3200, 20_000)

/** The seed of those requests: always the same in `npm test`, another one each time in a soak. The name of the test tells it. */
export const fuzzSeed = Number(process.env["REINS_FUZZ_SEED"] ?? share(20_260_131, Date.now() % 1_000_000_000))

/** Editors that are lost in the middle of turns. */
export const cuts = share(6, 200)

/** Calls of a hook that nothing proves. */
export const hookCalls = share(100, 10_000)

/** Deliveries that five callers bring to a hook 25 times at once, for each database. */
export const hookStorms = share(3, 50)

/** Turns of care during which somebody else pushes to the same branch, for each forge and database. Three have each moment of a push. */
export const careTurns = share(3, 17)

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
  delegations: { SQLite: share(35, 1500), PostgreSQL: share(10, 500) },
  budgets: { SQLite: share(60, 2000), PostgreSQL: share(15, 500) },
  snapshots: share(3, 150),
  sessions: { SQLite: share(25, 600), PostgreSQL: share(10, 250) }
}

/** The steps of filling and of dropping an object store at which a process is killed, each. */
export const storeKills = share(4, 50)

/** Random workspaces whose captured tree is compared with the one that git makes by hand. */
export const stagedTrees = share(2, 500)

/** Random sparse workspaces whose captured tree is compared with the one that git makes by hand. */
export const sparseTrees = share(3, 500)

/** The words that a person says to an agent at work, and the calls of tools that a policy has a person asked for. */
export const steers = share(25, 100)
export const askedCalls = share(15, 100)

/** Calls of models over three protocols, whose usage is counted. */
export const countedCalls = share(300, 1000)

/** Keys each of which comes 25 times at once, for each database. */
export const sentKeys = share(60, 200)

/** Random steps of an agent after each of which the digest of its work is compared with the files. */
export const subjectSteps = share(30, 300)

/** Random walks of an agent that hides and shows files with its git. */
export const hiddenTrees = share(3, 300)

/** Random lives of a branch on which people and turns push. */
export const joinedBranches = share(2, 40)

/** Random schemas of results and of functions, and as many that may be wrong. */
export const randomSchemas = share(60, 500)

/** Changesets of an agent that has a skill, for each database. */
export const skilledChangesets = share(5, 100)

/** Answers to calls of functions that meet the deadline of their call, for each database. */
export const answersAtDeadlines = share(40, 1000)

/** The calls that 25 clients claim at once, one after the other, for each database. */
export const claimedCalls = { SQLite: share(30, 100), PostgreSQL: share(10, 100) }

/** The forges before which the loop to merged is tried, by the database: PostgreSQL has another rest of it, so it gets one of them. */
export const forgesOn = (database: string): ReadonlyArray<KnownForge> =>
  forgesOfRows[rows][database === "SQLite" ? 0 : 1]

/** The forges on SQLite, and those on PostgreSQL. */
const forgesOfRows: Readonly<Record<typeof rows, readonly [ReadonlyArray<KnownForge>, ReadonlyArray<KnownForge>]>> = {
  first: [["github"], ["github"]],
  others: [["gitlab", "gitea"], ["gitea"]],
  all: [
    ["github", "gitlab", "gitea"],
    ["github", "gitlab", "gitea"]
  ]
}
