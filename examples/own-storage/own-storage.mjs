// Reins inside a program, on a database of its own. Give it a gateway that speaks the OpenAI chat protocol:
//   REINS_BASE_URL=https://gateway.example/v1 REINS_API_KEY=... REINS_MODEL=... node examples/own-storage/own-storage.mjs "Write a haiku"
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Effect, Logger, LogLevel, Stream } from "effect"
import * as Libsql from "./libsql.mjs"

const {
  REINS_API_KEY,
  REINS_BASE_URL,
  REINS_CACHE_DIR,
  REINS_DATA_DIR = ".reins-own-storage",
  REINS_MODEL
} = process.env
const message = process.argv[2] ?? "Write a haiku about reins to haiku.txt."
if (!REINS_BASE_URL || !REINS_API_KEY || !REINS_MODEL) {
  console.error("Set REINS_BASE_URL, REINS_API_KEY and REINS_MODEL to the gateway that the agent shall use.")
  process.exit(2)
}

const databaseDir = resolve(REINS_DATA_DIR)
mkdirSync(databaseDir, { recursive: true, mode: 0o700 })

const program = Effect.gen(function* () {
  const { principal, workspaceId } = yield* Embedded.owner
  yield* (yield* Connections).create(principal, workspaceId, {
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: REINS_BASE_URL, api_key: REINS_API_KEY }
  })
  const session = yield* (yield* Sessions).create(principal, workspaceId, {
    harness: { provider_id: "alpha", model: REINS_MODEL },
    message
  })
  yield* (yield* EventFeed).stream(principal, session.id, { after: 0 }).pipe(
    Stream.tap((event) => Effect.sync(() => console.log(`${event.seq} ${event.type}`))),
    Stream.takeUntil((event) => /^turn\.(succeeded|failed|cancelled|interrupted)$/.test(event.type)),
    Stream.runDrain
  )
  const [changeset] = (yield* (yield* Changesets).list(principal, session.id, {})).items
  if (changeset) console.log((yield* (yield* Changesets).diff(principal, changeset.id, {})).diff)
})

await Effect.runPromise(
  program.pipe(
    Effect.provide(
      Embedded.layer(
        {
          dataDir: REINS_DATA_DIR,
          allowPrivateHosts: [new URL(REINS_BASE_URL).host],
          // Where agents are installed, unless it is the usual place.
          ...(REINS_CACHE_DIR && { cacheDir: REINS_CACHE_DIR })
        },
        { database: Libsql.layer(`file:${join(databaseDir, "libsql.db")}`) }
      )
    ),
    Logger.withMinimumLogLevel(LogLevel.Warning)
  )
)
