import { createHash, randomUUID } from "node:crypto"
import { Data, Effect, Redacted, Schedule } from "effect"
import pg from "pg"
import { Bell, jobsTopic } from "./Bell.js"
import { failedStatementOf } from "./FailedStatement.js"

/**
 * Topics share lanes, since each lane that somebody listens to is a lock, and PostgreSQL has room for some thousands of them in all
 * sessions together.
 */
const laneCount = 256
/** Tells the advisory locks of lanes from those of others. */
const lockSpace = 0x7265696e

/** Jobs have one lane: who works them listens to it all the time, and to a job of its own for each attempt. */
const laneOf = (topic: string): number => {
  const name = topic.startsWith(jobsTopic) ? jobsTopic : topic
  return createHash("sha256").update(name).digest().readUInt16BE() % laneCount
}

const join = (lane: number) => `select pg_advisory_lock_shared(${lockSpace}, ${lane}); listen reins_bell_${lane}`
const leave = (lane: number) => `unlisten reins_bell_${lane}; select pg_advisory_unlock_shared(${lockSpace}, ${lane})`
/** A session that holds a shared lock itself is not kept from the exclusive one by it. */
const notify = `select pg_notify('reins_bell_' || lane, $1 || ' ' || topic)
  from unnest($2::text[], $3::integer[]) as rung (topic, lane) where not pg_try_advisory_xact_lock(${lockSpace}, lane)`

/** The connection of the bell has ended or refused a statement. By its code alone: the message of an error can hold the URL. */
class LineLost extends Data.TaggedError("LineLost")<{ readonly code: string }> {}

interface Line {
  readonly client: pg.Client
  readonly lose: (cause: unknown) => void
}

/**
 * The bell of all processes that use the database. Each holds a shared lock for a lane that it listens to, which ends with its
 * connection. After a commit a ring looks for that lock, and notifies only when another process holds it. Who begins to listen, or
 * listens again, is rung once the lock is held and the channel open, so that no commit falls in between.
 */
export const make = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const here = yield* Bell.makeLocal
    const origin = randomUUID()
    const lanes = new Map<number, Set<() => void>>()
    const untold = new Set<string>()
    let line: Line | undefined
    let isTelling = false

    const submit = (config: pg.QueryConfig<Array<unknown>>, answered: (isDone: boolean) => void) =>
      line?.client.query(config, (error) => {
        if (error) line?.lose(error)
        answered(!error)
      })

    const open = (lane: number) =>
      submit({ text: join(lane) }, (isDone) => {
        if (isDone) for (const listener of lanes.get(lane) ?? []) listener()
      })

    /** Rings that come while one is on the way go together with the next. */
    const tell = () => {
      if (line === undefined || untold.size === 0) return
      const topics = [...untold]
      untold.clear()
      isTelling = true
      submit({ text: notify, values: [origin, topics, topics.map(laneOf)] }, (isDone) => {
        isTelling = false
        if (isDone) tell()
        else for (const topic of topics) untold.add(topic)
      })
    }

    yield* Effect.acquireUseRelease(
      Effect.sync(
        () =>
          new pg.Client({
            connectionString: Redacted.value(url),
            application_name: "reins-bell",
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
          client.on("notification", ({ payload = "" }) => {
            const [from, topic = ""] = payload.split(" ")
            if (from !== origin) Effect.runSync(here.ring(topic))
          })
          client.connect((error: Error | null) => {
            if (error) return lose(error)
            line = { client, lose }
            for (const lane of lanes.keys()) open(lane)
            tell()
          })
        }),
      (client) =>
        Effect.suspend(() => {
          tell()
          line = undefined
          return Effect.promise(() => client.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second"))
        })
    ).pipe(
      Effect.tapError(({ code }) => Effect.logWarning("the bell lost its connection and opens another", { code })),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.forkScoped
    )

    return Bell.of({
      ring: (topic) =>
        Effect.zipRight(
          here.ring(topic),
          Effect.sync(() => {
            untold.add(topic)
            if (!isTelling) tell()
          })
        ),
      listen: (topic, listener) => {
        const stop = here.listen(topic, listener)
        const lane = laneOf(topic)
        const listeners = lanes.get(lane) ?? new Set()
        // Of its own, since one function may listen to several topics of a lane.
        const own = () => listener()
        lanes.set(lane, listeners.add(own))
        if (listeners.size === 1) open(lane)
        return () => {
          stop()
          if (!listeners.delete(own) || listeners.size > 0) return
          lanes.delete(lane)
          submit({ text: leave(lane) }, () => {})
        }
      }
    })
  })
