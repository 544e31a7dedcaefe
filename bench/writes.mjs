// Durable writes. An acknowledged write is on disk; the bare server makes one fsync for each.
import { connect, install, startBaseline } from "./installation.mjs"
import { compare } from "./requests.mjs"
import { countWork } from "./work-of-requests.mjs"

export const writes = async ({ report, settings }) => {
  report.subject("Durable writes, 32 connections, SQLite with synchronous=FULL")
  const server = await (await install("writes")).start()
  await connect(server)
  const session = await server.newSession()
  const baseline = await startBaseline()
  const how = { connections: 32, rounds: settings.rounds, seconds: settings.seconds, warmUp: settings.warmUp }
  const newSessions = { reins: server.createSession(), bare: baseline.createSession() }
  await compare(report, "POST a session", newSessions, how)
  await compare(report, "POST a note", { reins: server.sendNote(session.id), bare: baseline.sendNote() }, how)
  await Promise.all([server.stop(), baseline.stop()])
  await countWork(report)
}
