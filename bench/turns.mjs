// The time from a message to the agent, and from the agent's answer to the end of the turn, with an agent that takes no time of its own.
import { createHash } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { select } from "@reins/core/internal/harness/HostPlatform"
import { now } from "./clock.mjs"
import { connect, install, root } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"
import { makeRepository } from "./repository.mjs"

export const turns = async ({ report, settings }) => {
  report.subject("Turns, SQLite, with an agent that answers at once")
  const marks = join(directory, "agent-marks")
  const cacheDir = installAgent(marks)
  await coldTurns({ report, settings }, marks, { REINS_CACHE_DIR: cacheDir, REINS_ALLOW_LOCAL_REPOSITORIES: "true" })
  await warmTurns({ report, settings }, marks, { REINS_CACHE_DIR: cacheDir })
}

const of = (samples, field) => median(samples.map((sample) => sample[field]))

export const serverWith = async (name, environment) => {
  const server = await (await install(name, environment)).start()
  const connection = await connect(server)
  await server.reins.connections.update({ connection_id: connection.id, preferred_model: "scripted-1" })
  return server
}

/** Turns that start their agent each. */
const coldTurns = async ({ report, settings }, marks, environment) => {
  const server = await serverWith("turns", { ...environment, REINS_AGENT_IDLE_MINUTES: "0" })
  const repository = { url: makeRepository("small", 20) }

  const withClone = []
  let session
  for (let sample = 0; sample < Math.ceil(settings.samples / 2); sample++) {
    session = await server.newSession({ repository })
    withClone.push(await turn(server, session.id, marks))
  }
  const standing = []
  for (let sample = 0; sample < 2 * settings.samples; sample++) standing.push(await turn(server, session.id, marks))
  report.figure("From a message to the agent's process, session that stands", of(standing, "toSpawn"), "ms", {
    atMost: 40
  })
  report.figure("From a message to the agent's process, with its clone", of(withClone, "toSpawn"), "ms")
  report.figure("From the answer to turn.succeeded, less the agent's own end", of(standing, "toEnd"), "ms", {
    atMost: 100
  })
  report.note(`the agent's own end takes ${of(standing, "ownEnd").toFixed(0)} ms`)
  await server.stop()
}

/** Turns on an agent that was kept for them. */
const warmTurns = async ({ report, settings }, marks, environment) => {
  const server = await serverWith("warm-turns", environment)
  const session = await server.newSession({})
  await turn(server, session.id, marks)
  const warm = []
  for (let sample = 0; sample < 2 * settings.samples; sample++) warm.push(await turn(server, session.id, marks))
  report.figure("From a message to the prompt at an agent that is kept", of(warm, "toPrompt"), "ms")
  report.figure("From the answer of an agent that is kept to turn.succeeded", of(warm, "toKept"), "ms")
  await server.stop()
}

/** Sends a message and waits for the end of its turn. Gives the times between what the client sees and what the agent wrote down. */
export const turn = async (server, sessionId, marks) => {
  rmSync(marks, { force: true })
  const { event_watermark: after } = await server.reins.sessions.get({ session_id: sessionId })
  const events = server.reins.sessions.stream({ session_id: sessionId, after })
  // The stream is open before the message is sent.
  const ending = endOf(events)
  const sent = now()
  await server.reins.messages.send({ session_id: sessionId, content: "Say that it is done." })
  const ended = await ending
  const at = Object.fromEntries(
    readFileSync(marks, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" "))
      .map(([name, time]) => [name, Number(time)])
  )
  const ownEnd = at.ended - at.told
  return {
    toSpawn: at.spawned - sent,
    toPrompt: at.prompted - sent,
    ownEnd,
    toEnd: ended - at.answered - ownEnd,
    toKept: ended - at.answered
  }
}

/** Waits for the end of a turn. Fails unless it succeeded. */
export const endOf = async (events) => {
  for await (const { payload, type } of events) {
    if (type === "turn.succeeded") return now()
    if (/^turn\.(?:failed|cancelled|interrupted)$/.test(type))
      throw new Error(`the turn ${payload.turn.state}: ${payload.turn.reason_message}`)
  }
}

/**
 * Installs the agent as the program of alpha. A shell starts it and writes down its begin and its end, so that loading Node counts as the
 * agent's time.
 */
export const installAgent = (marks, name = "agents", args = "") => {
  const { cacheDir, executable } = placeAgent(name)
  const agent = join(dirname(fileURLToPath(import.meta.url)), "agent.mjs")
  const time = (name) => `echo "${name} $(date +%s%3N)" >> '${marks}'`
  writeFileSync(
    executable,
    `#!/bin/sh\n${time("spawned")}\n'${process.execPath}' '${agent}' '${marks}' ${args}\n${time("ended")}\n`
  )
  chmodSync(executable, 0o755)
  return cacheDir
}

/** Makes the place of alpha's program in a cache of its own. The program itself is missing. */
export const placeAgent = (name) => {
  const cacheDir = join(directory, name)
  const { runtime } = JSON.parse(readFileSync(join(root, "manifests/alpha.json"), "utf8"))
  const platform = select(runtime.install.platforms)
  const packages = [...runtime.install.packages, ...platform.packages]
  const digest = createHash("sha256").update(JSON.stringify(packages)).digest("hex").slice(0, 12)
  const { agent } = runtime
  const installed = join(cacheDir, "harnesses", `${agent.name}-${agent.version}-${platform.id}-${digest}`)
  const executable = join(installed, platform.executable)
  mkdirSync(dirname(executable), { recursive: true })
  const identity = packages.map(({ integrity, name, version }) => ({ name, version, integrity }))
  writeFileSync(join(installed, "reins-install.json"), JSON.stringify({ packages: identity }))
  return { cacheDir, executable, installed }
}
