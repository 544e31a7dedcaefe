/** `npm run soak` asks for all of what is random or long; `npm test` and CI take a share of it. */
export const isSoak = process.env["REINS_SOAK"] === "1"

export const share = <A>(some: A, all: A): A => (isSoak ? all : some)

/** Generated requests to every operation, on both databases together. */
export const fuzzRequests = share(2000, 20_000)

/** The seed of those requests: always the same in `npm test`, another one each time in a soak. The name of the test tells it. */
export const fuzzSeed = Number(process.env["REINS_FUZZ_SEED"] ?? share(20_260_131, Date.now() % 1_000_000_000))

/** Requests for a path race this long with a program that exchanges it. */
export const raceSeconds = share(5, 30)

/** Random walks through the models of what has states, for each database. */
export const walks = {
  jobs: share(20, 400),
  changesets: share(10, 200),
  connections: share(15, 400),
  delegations: { SQLite: share(50, 1500), PostgreSQL: share(15, 500) },
  sessions: { SQLite: share(25, 600), PostgreSQL: share(10, 250) }
}
