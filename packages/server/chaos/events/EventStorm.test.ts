import { Reins } from "@reins/client"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerOptions, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { assert, describe, it } from "vitest"
import { soakMs, storms } from "../Volume.js"
import { byClient, byPages, bySse, type Follow, type Source } from "./EventReaders.js"
import { insist } from "./Insist.js"

const place = placeForEachTest(inMemory)
const timeout = 1_200_000 + soakMs

interface Storm {
  readonly events: number
  readonly kills: number
  readonly readers: ReadonlyArray<Follow>
}

const times = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)

/** Makes one event, in one of the ways of a client. */
const makeEvent = (source: Source, number: number): Promise<void> => {
  if (number % 50 === 0)
    return insist(source, "POST", "/file-uploads", { path: `f/${number % 500}`, content: `${number}` })
  if (number % 3 === 0) return insist(source, "PATCH", "", { title: `title ${number} é😀` })
  return insist(source, "POST", "/messages", { content: `note ${number}`, routing: "note" })
}

const writers = 8

/** Writes and reads one new session while the server is killed and comes back, and gives back what each reader was given. */
const rage = async (server: () => ServerProcess, restart: () => Promise<void>, caller: Caller, storm: Storm) => {
  const baseUrl = server().url
  const reins = caller.at(server(), { maxRetries: 20 })
  const source = { baseUrl, apiKey: caller.apiKey, sessionId: await caller.newSession(reins) }
  // The workspace is made by the first upload.
  await insist(source, "POST", "/file-uploads", { path: "first", content: "first" })
  const { event_watermark: begun } = await reins.sessions.get({ session_id: source.sessionId })

  const reading = Promise.all(storm.readers.map((follow) => follow(source, storm.events)))
  let next = begun
  let made = begun
  let killed = 0
  let restarted: Promise<void> = Promise.resolve()
  const write = async () => {
    while (next < storm.events) {
      await makeEvent(source, ++next)
      made += 1
      if (killed < storm.kills && made >= (storm.events / (storm.kills + 1)) * (killed + 1)) {
        killed += 1
        restarted = restarted.then(restart)
      }
    }
  }
  const written = Promise.all(times(writers, undefined).map(write)).then(() => restarted)
  const [sequences] = await Promise.all([reading, written])
  const { event_watermark } = await reins.sessions.get({ session_id: source.sessionId })
  const log = await byPages(source, event_watermark)
  return { sequences, event_watermark, killed, log, source }
}

/** The `seq` of the events of some types, as the log has them. */
const ofTypes = async ({ apiKey, baseUrl, sessionId }: Source, types: string): Promise<ReadonlyArray<number>> => {
  const reins = new Reins({ baseUrl, apiKey })
  const seqs: Array<number> = []
  for (let after = 0; ; ) {
    const page = await reins.sessions.listEvents({ session_id: sessionId, after, limit: 1000, types })
    seqs.push(...page.items.map(({ seq }) => seq))
    if (!page.has_more) return seqs
    after = page.next_after
  }
}

const filter = "session.*,workspace.*"
const filtered = bySse(filter)

/** Most read by server-sent events, and some in each other way. */
const readersOf = (count: number): ReadonlyArray<Follow> => {
  const some = Math.floor(count / 6)
  const rest = Math.floor(count / 10)
  const others = [...times(some, byClient), ...times(some, byPages), ...times(rest, filtered)]
  return [...times(count - others.length, bySse()), ...others]
}

const databases = [
  { database: "SQLite", environment: async () => ({}) },
  { database: "PostgreSQL", environment: async () => ({ REINS_DATABASE_URL: await place.newPostgresDatabase() }) }
] as const

for (const { database, environment } of databases) {
  const { events, kills, readers } = storms[database]
  const storm: Storm = { events, kills, readers: readersOf(readers) }
  describe(`on ${database}`, () => {
    it(`${storm.readers.length} readers, cut at random, read each of ${storm.events} events once and in order through ${storm.kills} kills`, {
      timeout
    }, async () => {
      const options: ServerOptions = {
        dataDir: place.dataDir,
        env: await environment(),
        args: ["--port", String(await steadyPort())]
      }
      let server = await startServer(options)
      const caller = await newCaller(server, place.dataDir, undefined, options.env)
      const restart = async () => {
        server.kill("SIGKILL")
        await server.ended
        server = await startServer(options)
      }
      const until = Date.now() + soakMs
      do {
        const begun = Date.now()
        const { event_watermark, killed, log, sequences, source } = await rage(() => server, restart, caller, storm)
        assert.strictEqual(event_watermark, storm.events, "each change made one event")
        assert.strictEqual(killed, storm.kills)
        const all = upTo(storm.events)
        assert.deepStrictEqual(log, all)
        const some = await ofTypes(source, filter)
        assert.isAbove(some.length, storm.events / 4)
        assert.isBelow(some.length, storm.events)
        for (const [index, sequence] of sequences.entries())
          assert.deepStrictEqual(sequence, storm.readers[index] === filtered ? some : all, `reader ${index}`)
        process.stdout.write(
          `${database}: ${storm.events} events to ${storm.readers.length} readers in ${Date.now() - begun} ms\n`
        )
      } while (Date.now() < until)
    })
  })
}
