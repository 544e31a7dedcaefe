// Reads: one session, and a page of events from a short log and from a long one.
import { join } from "node:path"
import { openSqlite } from "@reins/core/internal/store/SqliteDriver"
import { connect, install, startBaseline } from "./installation.mjs"
import { inTurns } from "./load.mjs"
import { compare } from "./requests.mjs"

export const reads = async ({ report, settings }) => {
  report.subject("Reads, 32 connections, SQLite")
  const { dataDir, start } = await install("reads")
  const { id: short, long } = await withLogs(start, dataDir, settings.longLog)
  const server = await start()
  const baseline = await startBaseline()
  const how = { connections: 32, rounds: settings.rounds, seconds: settings.seconds, warmUp: settings.warmUp }

  const sessions = { reins: server.get(`/api/sessions/${short}`), bare: baseline.getSession() }
  await compare(report, "GET a session", sessions, how)

  const page = (id, events) => server.get(`/api/sessions/${id}/events?after=${Math.floor(events / 2)}&limit=100`)
  const rest = { ...how, warmUp: Math.ceil(settings.warmUp / 4) }
  await compare(report, "Page of 100 events", { reins: page(short, shortLog), bare: baseline.getSession() }, rest)
  const pages = await inTurns({ short: page(short, shortLog), long: page(long, settings.longLog) }, rest)
  report.note(
    `a page takes ${pages.short.cpuMicros.toFixed(0)} us of CPU with ${shortLog} events in the log, ` +
      `${pages.long.cpuMicros.toFixed(0)} us with ${settings.longLog}`
  )
  report.figure(
    "Page of 100 events: CPU with the long log, of that with the short",
    pages.long.cpuMicros / pages.short.cpuMicros,
    "",
    {
      atMost: 1.15
    }
  )
  await Promise.all([server.stop(), baseline.stop()])
}

const shortLog = 1000

/**
 * Two sessions with the wanted number of events. The events are copies of a note, which are put into the database while nothing else uses it.
 */
const withLogs = async (start, dataDir, longLog) => {
  const server = await start()
  await connect(server)
  const [short, long] = [await server.newSession(), await server.newSession()]
  for (const { id } of [short, long])
    await server.reins.messages.send({ session_id: id, content: "a note", routing: "note" })
  await server.stop()
  const db = openSqlite(join(dataDir, "reins.db"))
  db.pragma("synchronous = off")
  const fill = db.transaction((id, events) => {
    db.prepare(`
      with recursive numbers(n) as (
        select event_watermark + 1 from sessions where id = @id union all select n + 1 from numbers where n < @events
      )
      insert into events (session_id, seq, type, turn_id, envelope)
      select @id, n, type, turn_id, json_set(envelope, '$.seq', n) from numbers,
        (select type, turn_id, envelope from events where session_id = @id and type = 'message.accepted' limit 1)
    `).run({ id, events })
    db.prepare("update sessions set event_watermark = ? where id = ?").run(events, id)
  })
  fill(short.id, shortLog)
  fill(long.id, longLog)
  db.close()
  return { id: short.id, long: long.id }
}
