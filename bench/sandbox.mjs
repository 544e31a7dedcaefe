// The time that each executor adds to a turn: the same turns in it and on `local`, one after the other, with an agent that is started for each
// turn and with one that is kept.
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { podmanPlace } from "../scripts/podman.mjs"
import { now } from "./clock.mjs"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"
import { endOf, placeAgent } from "./turns.mjs"

/** The goals in milliseconds, where there are some. */
const executors = { bubblewrap: { cold: { atMost: 100 }, warm: {} }, container: { cold: {}, warm: {} } }

const hasPodman = () =>
  process.getuid() === 0 && process.env.PATH.split(delimiter).some((path) => existsSync(join(path, "podman")))

export const sandbox = async ({ report, settings }) => {
  report.subject("A turn in each executor, SQLite, with an agent that answers at once")
  const cacheDir = installAgent()
  const engine = hasPodman() ? podmanPlace() : undefined
  if (engine === undefined) report.note("containers are not measured: that takes root and podman on the PATH")
  try {
    for (const [kind, minutes] of [
      ["cold", "0"],
      ["warm", "5"]
    ])
      await measure({ report, settings, cacheDir, engine, kind, minutes })
  } finally {
    engine?.remove()
  }
}

const measure = async ({ report, settings, cacheDir, engine, kind, minutes }) => {
  const sides = {}
  for (const executor of ["local", ...Object.keys(executors)]) {
    if (executor === "container" && engine === undefined) continue
    const env = { REINS_CACHE_DIR: cacheDir, REINS_EXECUTOR: executor, REINS_AGENT_IDLE_MINUTES: minutes }
    const name = `sandbox-${kind}-${executor}`
    const installation = await install(name, env)
    const server =
      executor === "container" ? await contained(installation, name, cacheDir, engine) : await installation.start()
    await connect(server)
    const { id } = await server.newSession()
    sides[executor] = { server, id, times: [] }
  }
  for (let sample = 0; sample < 2 * settings.samples; sample++)
    for (const side of Object.values(sides)) side.times.push(await turn(side))
  const { local, ...others } = Object.fromEntries(
    Object.entries(sides).map(([name, { times }]) => [name, median(times.slice(1))])
  )
  const words = kind === "cold" ? "a turn that starts its agent" : "a turn whose agent was kept"
  report.note(`${words} takes ${local.toFixed(0)} ms on local`)
  for (const [name, time] of Object.entries(others))
    report.figure(`What ${name} adds to ${words}`, time - local, "ms", executors[name][kind])
  for (const { server } of Object.values(sides)) await server.stop()
}

/** The server of a user without rights, since containers are not run as root. */
const contained = (installation, name, cacheDir, { env, gid, image, launcher, uid }) => {
  chmodSync(directory, 0o755)
  const own = join(cacheDir, "container")
  mkdirSync(own, { recursive: true })
  spawnSync("chown", ["-R", `${uid}:${gid}`, own, join(directory, name)])
  return installation.start({ ...env, REINS_CONTAINER_IMAGE: image }, launcher)
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
