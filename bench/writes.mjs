// Durable writes. An acknowledged write is on disk; the bare server makes one fsync for each.
import { connect, install, startBaseline } from "./installation.mjs"
import { inTurns } from "./load.mjs"
import { row } from "./reads.mjs"

export const writes = async ({ report, settings }) => {
  report.subject("Durable writes, 32 connections, SQLite with synchronous=FULL")
  const server = await (await install("writes")).start()
  await connect(server)
  const session = await server.newSession()
  const baseline = await startBaseline()
  const how = { connections: 32, rounds: settings.rounds, seconds: settings.seconds, warmUp: settings.warmUp }
  const both = async (name, sides) => {
    const { bare, reins } = await inTurns(sides, how)
    row(report, { bare, reins })
    report.figure(`${name}: share of the bare server's unbatched rate`, reins.perSecond / bare.perSecond, "", {
      atLeast: 1
    })
    report.figure(`${name}: p99, in the bare server's p99`, reins.p99 / bare.p99, "", { atMost: 1.5 })
    report.figure(`${name}: CPU, in bare requests`, reins.cpuMicros / bare.cpuMicros, "")
    report.figure(name, reins.perSecond, "/s")
  }
  await both("POST a session", { reins: server.createSession(), bare: baseline.createSession() })
  await both("POST a note", { reins: server.sendNote(session.id), bare: baseline.sendNote() })
  await Promise.all([server.stop(), baseline.stop()])
}
