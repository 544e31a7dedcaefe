// The time that the sandbox adds to a turn: the same turns in it and without it, one after the other.
import { chmodSync, copyFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { now } from "./clock.mjs"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { endOf, placeAgent } from "./turns.mjs"

export const sandbox = async ({ report, settings }) => {
  report.subject("A turn in the sandbox, SQLite, with an agent that answers at once")
  const cacheDir = installAgent()
  const sides = {}
  for (const executor of ["local", "bubblewrap"]) {
    const env = { REINS_CACHE_DIR: cacheDir, REINS_EXECUTOR: executor }
    const server = await install(`sandbox-${executor}`, env).start()
    await connect(server)
    const { id } = await server.newSession()
    sides[executor] = { server, id, times: [] }
  }
  for (let sample = 0; sample < 2 * settings.samples; sample++)
    for (const side of Object.values(sides)) side.times.push(await turn(side))
  const { bubblewrap, local } = Object.fromEntries(
    Object.entries(sides).map(([name, { times }]) => [name, median(times.slice(1))])
  )
  report.note(`a turn takes ${local.toFixed(0)} ms without the sandbox and ${bubblewrap.toFixed(0)} ms in it`)
  report.figure("What the sandbox adds to a turn", bubblewrap - local, "ms", { atMost: 100 })
  for (const { server } of Object.values(sides)) await server.stop()
}

const turn = async ({ id, server }) => {
  const { event_watermark: after } = await server.reins.sessions.get({ session_id: id })
  const ending = endOf(server.reins.sessions.stream({ session_id: id, after }))
  const sent = now()
  await server.reins.messages.send({ session_id: id, content: "Say that it is done." })
  return (await ending) - sent
}

/** Installs the agent with all that it loads, because an agent in the sandbox sees its installation alone. */
const installAgent = () => {
  const { cacheDir, executable, installed } = placeAgent("sandboxed-agents")
  const here = dirname(fileURLToPath(import.meta.url))
  for (const name of ["agent.mjs", "clock.mjs"]) copyFileSync(join(here, name), join(installed, name))
  const agent = join(installed, "agent.mjs")
  writeFileSync(executable, `#!/bin/sh\nexec '${process.execPath}' '${agent}' "$HOME/marks"\n`)
  chmodSync(executable, 0o755)
  return cacheDir
}
