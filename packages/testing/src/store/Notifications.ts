import { Effect, Redacted, type Scope } from "effect"
import pg from "pg"

/** Every topic that the database notifies anybody of from now on, in their order. */
export const notifications = (url: Redacted.Redacted): Effect.Effect<ReadonlyArray<string>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const client = new pg.Client({ connectionString: Redacted.value(url) })
        const topics: Array<string> = []
        client.on("notification", ({ payload = "" }) => topics.push(payload.split(" ")[1] ?? ""))
        await client.connect()
        await client.query(Array.from({ length: 256 }, (_, lane) => `listen reins_bell_${lane}`).join(";"))
        return { client, topics }
      }),
      ({ client }) => Effect.promise(() => client.end())
    ),
    ({ topics }) => topics
  )
