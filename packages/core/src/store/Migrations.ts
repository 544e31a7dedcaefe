import { Migrator, SqlClient, type SqlError } from "@effect/sql"
import { isOlder, release } from "@reins/base/base/Release"
import { Cause, Data, Effect, Schedule, type Scope } from "effect"
import { failedStatementOf } from "./FailedStatement.js"
import { minRelease, raise, type Step } from "./Step.js"
import { steps } from "./Steps.js"

/** A step of the schema, as the database remembers it. */
export interface Migration {
  /** Counts from 1. */
  readonly id: number
  /** Words that are joined by underscores. */
  readonly name: string
}

/** The schema of a database: the steps that it has taken, in their order, and the oldest release that may work with it, null for an empty one. */
export interface SchemaState {
  readonly schema: ReadonlyArray<Migration>
  readonly minRelease: string | null
}

/** The data needs a newer release than this one, or is of another line of releases. */
export class DatabaseNewer extends Data.TaggedError("DatabaseNewer")<{
  /** The release that the data needs; null when no release is known that has its steps. */
  readonly needs: string | null
  /** The steps that this release does not know. */
  readonly unknown: ReadonlyArray<Migration>
  /** The release that was refused. */
  readonly release: string
}> {
  override get message() {
    const made = `or restore a backup that was made before the upgrade; nothing was changed.`
    return this.needs === null
      ? `The data has steps of its schema that are none of ${this.release} (${this.unknown.map(nameOf).join(", ")}): run the release that made them, ${made}`
      : `The data needs release ${this.needs} of Reins or a newer one, and this is ${this.release}: run such a release, ${made}`
  }
}

/** A server that is at work on the database. */
export interface AtWork {
  /** Its name for a person. */
  readonly name: string
  /** Null for one that nobody knows the release of. */
  readonly release: string | null
}

/** A step would take away what a server uses that is at work. */
export class OlderAtWork extends Data.TaggedError("OlderAtWork")<{
  /** The step, by its number and name. */
  readonly step: string
  /** The first release that works without what is taken away. */
  readonly needs: string
  /** The servers of older releases. */
  readonly atWork: ReadonlyArray<AtWork>
}> {
  override get message() {
    const names = this.atWork.map(({ name, release }) => `${name} (${release ?? "of a release that is not known"})`)
    return `The step ${this.step} takes away what releases before ${this.needs} use, and such a release is at work: stop ${names.join(", ")}, or bring it to ${this.needs} first; nothing was changed.`
  }
}

/** Others hold the tables that a step changes. */
export class SchemaBusy extends Data.TaggedError("SchemaBusy") {
  override get message() {
    return "The schema cannot be changed while something else holds its tables for so long, as a dump of the database does: try again when that has ended. The step that waited was not taken, and steps before it stay."
  }
}

/** The reasons for which the schema is not brought up to date. */
export type MigrationRefused = DatabaseNewer | OlderAtWork | SchemaBusy

const table = "effect_sql_migrations"

/** Reads the schema of a database as it is. */
export const stateOf: Effect.Effect<SchemaState, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql.onDialectOrElse({
    pg: () => sql`select 1 as there where to_regclass(${table}) is not null`,
    orElse: () => sql`select 1 as there from sqlite_master where type = 'table' and name = ${table}`
  })
  if (found.length === 0) return { schema: [], minRelease: null }
  const schema = yield* sql<Migration>`select migration_id as id, name from ${sql(table)} order by migration_id`
  const isNamed = schema.some(({ name }) => name === "store")
  return { schema, minRelease: isNamed ? ((yield* minRelease) ?? null) : null }
})

const nameOf = ({ id, name }: Migration): string => `${id}_${name}`

/** The way to the servers that are at work besides this one. */
export interface Others {
  readonly list: Effect.Effect<ReadonlyArray<AtWork>, SqlError.SqlError, SqlClient.SqlClient>
  /** Keeps servers from beginning until the transaction and the scope end. One that begins then sees what was committed. */
  readonly keepOut: Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient | Scope.Scope>
}

/** The circumstances under which a schema is brought up to date. */
export interface UpgradeTerms {
  readonly others: Others
  /** The time in which a step tries again to get the tables that it changes, in milliseconds: a minute unless given. */
  readonly patienceMs?: number
}

/** The schema as a release knows it by its steps, and the rules by which it works with the one of a database. */
export const rulesOf = (release: string, steps: Readonly<Record<string, Step>>) => {
  const all = Object.entries(steps).map(([words, step]) => {
    const [number = "", ...name] = words.split("_")
    return { id: Number(number), name: name.join("_"), step }
  })
  const known: ReadonlyArray<Migration> = all.map(({ id, name }) => ({ id, name }))
  const newest = known.at(-1)?.id ?? 0

  /** Fails for a schema that this release does not work with. One that a newer release has added to is none of these. */
  const requireUsable = ({ minRelease: needs, schema }: SchemaState): Effect.Effect<void, DatabaseNewer> => {
    const unknown = schema.filter((step) => !known.some(({ id, name }) => id === step.id && name === step.name))
    if (needs !== null && isOlder(release, needs)) return new DatabaseNewer({ needs, unknown, release })
    // A newer release goes on where this one ends. Another step in between is of a line that this release knows nothing of.
    if (unknown.some(({ id }) => id <= newest)) return new DatabaseNewer({ needs: null, unknown, release })
    return Effect.void
  }

  /** The steps that this release would still take. */
  const pending = (schema: ReadonlyArray<Migration>): ReadonlyArray<Migration> =>
    known.filter(({ id }) => id > (schema.at(-1)?.id ?? 0))

  /** The steps that would be taken and take something away. */
  const contracting = (schema: ReadonlyArray<Migration>) => {
    const ids = new Set(pending(schema).map(({ id }) => id))
    return all.flatMap(({ id, name, step }) =>
      ids.has(id) && step.kind === "contract" ? [{ step: nameOf({ id, name }), needs: step.needs }] : []
    )
  }

  /** Fails when the next steps take away what a server uses that is at work. */
  const requireNoneOlder = (schema: ReadonlyArray<Migration>, others: Pick<Others, "list">) =>
    Effect.gen(function* () {
      const steps = contracting(schema)
      if (steps.length === 0) return
      const servers = yield* others.list
      for (const { needs, step } of steps) {
        const atWork = servers.filter((server) => server.release === null || isOlder(server.release, needs))
        if (atWork.length > 0) return yield* new OlderAtWork({ step, needs, atWork })
      }
    })

  /** Says that the schema needs what the next steps leave of it, before anything is changed. */
  const announce = (schema: ReadonlyArray<Migration>, others: Others) =>
    Effect.gen(function* () {
      const steps = contracting(schema)
      if (steps.length === 0) return
      yield* others.keepOut
      yield* requireNoneOlder(schema, others)
      yield* Effect.forEach(steps, ({ needs }) => raise(needs))
    })

  const takeUpTo = (last: number) =>
    Effect.map(
      Migrator.make({})({
        loader: Effect.succeed(
          all.flatMap(({ id, name, step }) => (id <= last ? [[id, name, Effect.succeed(step.change)] as const] : []))
        )
      }),
      (taken) => taken.map(([id, name]): Migration => ({ id, name }))
    )

  /**
   * Brings the schema up to date and gives back the steps that were taken. A database that is not for this release is refused and left as it is,
   * and so is one of which a step takes away what a server uses that is at work.
   */
  const migrateBeside = ({
    others,
    patienceMs = 60_000
  }: UpgradeTerms): Effect.Effect<ReadonlyArray<Migration>, MigrationRefused, SqlClient.SqlClient> =>
    Effect.gen(function* () {
      const state = yield* stateOf
      yield* requireUsable(state)
      const missing = pending(state.schema)
      if (missing.length === 0) return []
      const whole = inTransaction(patienceMs)
      // Nothing of an installation that does not exist yet is in the way of anybody.
      if (state.schema.length === 0) return yield* whole(takeUpTo(newest))
      yield* whole(announce(state.schema, others))
      // Each step by itself, so that it holds its tables for no longer than it needs them.
      return (yield* Effect.forEach(missing, ({ id }) => whole(takeUpTo(id)))).flat()
    }).pipe(Effect.scoped, Effect.catchTags({ SqlError: Effect.die, MigrationError: Effect.die }))

  return { known, requireUsable, requireNoneOlder, pending, migrateBeside }
}

/** Makes a transaction in which one process at a time changes the schema. It gives way to whoever has the tables, and tries again. */
const inTransaction =
  (patienceMs: number) =>
  <A, E, R>(change: Effect.Effect<A, E, R>) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.onDialectOrElse({
        pg: () =>
          sql.withTransaction(Effect.zipRight(oneByOne, change)).pipe(
            Effect.sandbox,
            Effect.retry({
              while: isHeldUp,
              schedule: Schedule.upTo(Schedule.spaced("500 millis"), patienceMs)
            }),
            Effect.catchAll(
              (cause): Effect.Effect<never, E | SchemaBusy | SqlError.SqlError> =>
                isHeldUp(cause) ? new SchemaBusy() : Effect.failCause(cause)
            )
          ),
        orElse: (): Effect.Effect<A, E | SchemaBusy | SqlError.SqlError, R> => change
      })
    )

/** The lock of whoever changes the schema. */
const schemaLock = 0x736368656d61

/**
 * Statements of servers wait behind a step that waits for a table, so it waits for a second. The table of the steps is made here, because a statement
 * that looks for it would end the transaction.
 */
const oneByOne = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The steps that another process has taken meanwhile would be out of sight of a stricter level.
  yield* sql`set transaction isolation level read committed`
  yield* sql`select pg_advisory_xact_lock(${sql.literal(String(schemaLock))})`
  yield* sql`set local lock_timeout = '1s'`
  yield* sql`create table if not exists ${sql(table)} (migration_id integer primary key,
    created_at timestamp with time zone not null default now(), name text not null)`
})

/** Somebody else holds a table (55P03), or each of two waits for the other (40P01). */
const isHeldUp = (cause: Cause.Cause<unknown>): boolean =>
  /^(?:55P03|40P01)$/.test(failedStatementOf(Cause.squash(cause))?.code ?? "")

/** The schema of this release. */
export const { known, migrateBeside, pending, requireNoneOlder, requireUsable } = rulesOf(release, steps)

/** Brings the schema up to date where no other server can be at work, and gives back the steps that were taken. */
export const migrate = migrateBeside({ others: { list: Effect.succeed([]), keepOut: Effect.void } })
