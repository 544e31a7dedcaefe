import { createHash, randomUUID } from "node:crypto"
import type { SqlClient } from "@effect/sql"
import { limited } from "@reins/base/base/Limited"
import { release } from "@reins/base/base/Release"
import { Data, Effect, Redacted, Schedule } from "effect"
import pg from "pg"
import { Bell, jobsTopic } from "./Bell.js"
import { failedStatementOf } from "./FailedStatement.js"

/**
 * Topics share lanes. Each lane that somebody listens to is a lock, and PostgreSQL has room for some thousands of locks in all sessions
 * together.
 */
const laneCount = 256
/** Tells the advisory locks of lanes from those of others. */
const lockSpace = 0x7265696e

/** Jobs have one lane, because a worker listens to it all the time, and to a job of its own for each attempt. */
const laneOf = (topic: string): number => {
  const name = topic.startsWith(jobsTopic) ? jobsTopic : topic
  return createHash("sha256").update(name).digest().readUInt16BE() % laneCount
}

/** The names of the connections of bells, by which a server is told from one of several machines, with its release. */
export const ofServer = `reins-bell/${release}`
export const ofNode = `reins-bell-of-node/${release}`

/** Servers whose workers listen for jobs, and which are none of several machines. */
export const workers = (sql: SqlClient.SqlClient) =>
  sql<{ release: string }>`select split_part(application_name, '/', 2) as release from pg_locks
  join pg_stat_activity on pg_stat_activity.pid = pg_locks.pid
  where locktype = 'advisory' and classid = ${lockSpace} and objid = ${laneOf(jobsTopic)} and objsubid = 2
  and application_name like 'reins-bell/%' and datname = current_database()`

const join = (lane: number) => `select pg_advisory_lock_shared(${lockSpace}, ${lane}); listen reins_bell_${lane}`
const leave = (lane: number) => `unlisten reins_bell_${lane}; select pg_advisory_unlock_shared(${lockSpace}, ${lane})`
/** A session that holds a shared lock itself is not kept from the exclusive one by it. */
const notify = `select pg_notify('reins_bell_' || lane, $1 || ' ' || topic)
  from unnest($2::text[], $3::integer[]) as rung (topic, lane) where not pg_try_advisory_xact_lock(${lockSpace}, lane)`

/**
 * The connection of the bell has ended or refused a statement. The error carries its code alone, because the message of a driver can hold
 * the URL.
 */
class LineLost extends Data.TaggedError("LineLost")<{ readonly code: string }> {}

/**
 * The bell of all processes that use the database. Each process holds a shared lock for a lane that it listens to, which ends with its
 * connection. After a commit a ring looks for that lock, and notifies only when another process holds it. A process that begins to listen, or
 * listens again, is rung once the lock is held and the channel open, so that no commit falls in between.
 */
export const make = (url: Redacted.Redacted, application: string) =>
  Effect.gen(function* () {
    const here = yield* Bell.makeLocal
    const far = new FarBell((topic) => Effect.runSync(here.ring(topic)))
    yield* connected(url, application, far).pipe(
      Effect.tapError(({ code }) => Effect.logWarning("the bell lost its connection and opens another", { code })),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.forkScoped
    )
    return Bell.of({
      ring: (topic) => Effect.zipRight(here.ring(topic), far.ring(topic)),
      listen: (topic, listener) => {
        const stop = here.listen(topic, listener)
        const stopFar = far.listen(topic, listener)
        return () => {
          stop()
          stopFar()
        }
      }
    })
  })

/** Keeps a connection open for the bell, until it is lost or no longer wanted. */
const connected = (url: Redacted.Redacted, application: string, far: FarBell) =>
  Effect.acquireUseRelease(
    Effect.sync(
      () =>
        new pg.Client({
          connectionString: Redacted.value(url),
          application_name: application,
          keepAlive: true,
          pipeline: true
        })
    ),
    (client) =>
      Effect.async<never, LineLost>((resume) => {
        const lose = (cause: unknown) =>
          resume(Effect.fail(new LineLost({ code: failedStatementOf(cause)?.code ?? "unknown" })))
        client.on("error", lose)
        client.on("end", () => lose(undefined))
        client.on("notification", ({ payload = "" }) => far.hear(payload))
        client.connect((error: Error | null) => (error ? lose(error) : far.connect({ client, lose })))
      }),
    (client) =>
      Effect.suspend(() => {
        far.disconnect()
        return limited(
          Effect.promise(() => client.end()),
          Effect.timeoutOption("1 second")
        )
      })
  )

interface Line {
  readonly client: pg.Client
  readonly lose: (cause: unknown) => void
}

/** The bells of the other processes. Rings and listeners wait here while there is no connection. */
class FarBell {
  /** Tells the rings of this process from those of others. */
  private readonly origin = randomUUID()
  private readonly lanes = new Map<number, Set<() => void>>()
  /** The topics whose rings have not been sent. */
  private readonly untold = new Set<string>()
  private line: Line | undefined
  private isTelling = false

  constructor(private readonly ringHere: (topic: string) => void) {}

  readonly ring = (topic: string): Effect.Effect<void> =>
    Effect.sync(() => {
      this.untold.add(topic)
      if (!this.isTelling) this.tell()
    })

  listen(topic: string, listener: () => void): () => void {
    const lane = laneOf(topic)
    const listeners = this.lanes.get(lane) ?? new Set()
    // Each call has a function of its own, because one listener may listen to several topics of a lane.
    const own = () => listener()
    this.lanes.set(lane, listeners.add(own))
    if (listeners.size === 1) this.open(lane)
    return () => {
      if (!listeners.delete(own) || listeners.size > 0) return
      this.lanes.delete(lane)
      this.submit({ text: leave(lane) }, () => {})
    }
  }

  connect(line: Line): void {
    this.line = line
    for (const lane of this.lanes.keys()) this.open(lane)
    this.tell()
  }

  disconnect(): void {
    this.tell()
    this.line = undefined
  }

  hear(payload: string): void {
    const [from, topic = ""] = payload.split(" ")
    if (from !== this.origin) this.ringHere(topic)
  }

  /** Joins a lane, and rings its listeners once that is done. */
  private open(lane: number): void {
    this.submit({ text: join(lane) }, (isDone) => {
      if (isDone) for (const listener of this.lanes.get(lane) ?? []) listener()
    })
  }

  /** Sends the rings that wait. Rings that come while some are on the way go together with the next. */
  private tell(): void {
    if (this.line === undefined || this.untold.size === 0) return
    const topics = [...this.untold]
    this.untold.clear()
    this.isTelling = true
    this.submit({ text: notify, values: [this.origin, topics, topics.map(laneOf)] }, (isDone) => {
      this.isTelling = false
      if (isDone) this.tell()
      else for (const topic of topics) this.untold.add(topic)
    })
  }

  private submit(config: pg.QueryConfig<Array<unknown>>, answered: (isDone: boolean) => void): void {
    this.line?.client.query(config, (error) => {
      if (error) this.line?.lose(error)
      answered(!error)
    })
  }
}
