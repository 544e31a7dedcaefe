import { Migrator, SqlClient, type SqlError } from "@effect/sql"
import { Data, Effect } from "effect"
import { initial } from "./migrations/0001_initial.js"
import { keptEvents } from "./migrations/0002_kept_events.js"
import { handsOnTurns } from "./migrations/0003_hands_on_turns.js"
import { knownClients } from "./migrations/0003_known_clients.js"
import { labelsAndUsage } from "./migrations/0003_labels_and_usage.js"
import { sessionDisk } from "./migrations/0003_session_disk.js"
import { boundCredentials } from "./migrations/0004_bound_credentials.js"
import { modelCalls } from "./migrations/0005_model_calls.js"
import { budgets } from "./migrations/0006_budgets.js"
import { projectSetup } from "./migrations/0007_project_setup.js"
import { workspaceEvents } from "./migrations/0008_workspace_events.js"
import { webhooks } from "./migrations/0009_webhooks.js"
import { webhookTests } from "./migrations/0010_webhook_tests.js"
import { budgetQuestions } from "./migrations/0011_budget_questions.js"

const statements = (list: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of list) yield* sql.unsafe(statement)
  })

const steps = {
  "0001_initial": statements(initial),
  "0002_kept_events": statements(keptEvents),
  "0003_labels_and_usage": Effect.zipRight(
    labelsAndUsage,
    statements([...handsOnTurns, ...knownClients, ...sessionDisk])
  ),
  "0004_bound_credentials": statements(boundCredentials),
  "0005_model_calls": statements(modelCalls),
  "0006_budgets": statements(budgets),
  "0007_project_setup": statements(projectSetup),
  "0008_workspace_events": workspaceEvents,
  "0009_webhooks": statements(webhooks),
  "0010_webhook_tests": Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.onDialectOrElse({
      pg: () => statements(webhookTests.pg),
      orElse: () => statements(webhookTests.sqlite)
    })
  ),
  "0011_budget_questions": statements(budgetQuestions)
}

/** A step of the schema, as the database remembers it. */
export interface Migration {
  /** Counts from 1. */
  readonly id: number
  /** Words that are joined by underscores. */
  readonly name: string
}

/** The steps that this release knows, in their order. */
export const known: ReadonlyArray<Migration> = Object.keys(steps).map((step) => {
  const [number = "", ...words] = step.split("_")
  return { id: Number(number), name: words.join("_") }
})

/** The data has steps behind it that this release does not know: a newer release made it. */
export class DatabaseNewer extends Data.TaggedError("DatabaseNewer")<{
  /** The steps that this release does not know. */
  readonly unknown: ReadonlyArray<Migration>
}> {
  override get message() {
    return (
      `The data is of a newer release of Reins: its schema has ${this.unknown.map(({ id, name }) => `${id}_${name}`).join(", ")}, ` +
      `and this release knows ${known.at(-1)?.id ?? 0} and below. Nothing was changed. Run the newer release, or restore a backup ` +
      "that was made before the upgrade."
    )
  }
}

const table = "effect_sql_migrations"

/** The steps that the database has taken, in their order; none when it is empty. */
export const applied: Effect.Effect<ReadonlyArray<Migration>, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql.onDialectOrElse({
      pg: () => sql`select 1 as there where to_regclass(${table}) is not null`,
      orElse: () => sql`select 1 as there from sqlite_master where type = 'table' and name = ${table}`
    })
    if (found.length === 0) return []
    return yield* sql<Migration>`select migration_id as id, name from ${sql(table)} order by migration_id`
  }
)

/** Fails when a step is not one that this release knows. */
export const requireKnown = (steps: ReadonlyArray<Migration>): Effect.Effect<void, DatabaseNewer> => {
  const unknown = steps.filter((step) => !known.some(({ id, name }) => id === step.id && name === step.name))
  return unknown.length === 0 ? Effect.void : Effect.fail(new DatabaseNewer({ unknown }))
}

/** The steps that this release would still take. */
export const pending = (steps: ReadonlyArray<Migration>): ReadonlyArray<Migration> =>
  known.filter((step) => !steps.some(({ id }) => id === step.id))

/** Brings the schema up to date and gives back the steps that were taken. A database of a newer release is refused and left as it is. */
export const migrate: Effect.Effect<ReadonlyArray<Migration>, DatabaseNewer, SqlClient.SqlClient> = Effect.gen(
  function* () {
    yield* requireKnown(yield* Effect.orDie(applied))
    const taken = yield* Effect.orDie(Migrator.make({})({ loader: Migrator.fromRecord(steps) }))
    return taken.map(([id, name]) => ({ id, name }))
  }
)
