// The time that Reins adds to a real agent until its first word: the same prompts to opencode over the bare protocol and through the API, in turns.
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { CoreConfig } from "@reins/core/base/CoreConfig"
import { Manifests } from "@reins/core/harness/Manifests"
import { environmentOf, inheritedVariables } from "@reins/core/internal/executor/AgentEnvironment"
import * as Local from "@reins/core/internal/executor/Local"
import { HarnessInstall } from "@reins/core/internal/harness/Install"
import * as Launch from "@reins/core/internal/harness/Launch"
import { Effect, Layer, Option, Redacted } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { now } from "./clock.mjs"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory, track } from "./processes.mjs"

const apiKey = "bench-key"
/** The time that a person takes for the first message. */
const writingMs = 6000
const said = () => script("Say that it is done.", { say: "Done." })

export const agents = async ({ report, settings }) => {
  report.subject("A real agent, opencode, beside the bare protocol")
  const gateway = await startGateway({ apiKey })
  const server = await (
    await install("agents", { REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1", REINS_PREWARM: "on" })
  ).start()
  await connect(server, gateway.url, apiKey)
  try {
    await coldStarts({ report, settings }, server, gateway)
    await laterTurns({ report, settings }, server, gateway)
    await startsAhead({ report, settings }, server)
  } finally {
    await server.stop()
    await gateway.close()
  }
}

/** The first turn of a session, which starts the agent, beside a start of the agent alone. */
const coldStarts = async ({ report, settings }, server, gateway) => {
  const times = { bare: [], reins: [] }
  // The first start reads the program from the disk.
  await (await bareAgent(gateway)).stop()
  for (let sample = 0; sample < Math.ceil(settings.samples / 2); sample++) {
    const begun = now()
    const agent = await bareAgent(gateway)
    times.bare.push((await agent.prompt()) - begun)
    await agent.stop()
    const { id } = await server.newSession({ prewarm: false })
    times.reins.push(await turn(server, id))
    await server.reins.jobs.wait(await server.reins.sessions.releaseExecutor({ session_id: id }))
  }
  report.note(
    `${shown(times.bare)} over the bare protocol and ${shown(times.reins)} through the API, ${ratioOf(times)}`
  )
  report.figure("First turn of opencode, to its first word, more than a bare start", addedTo(times), "ms", {
    atMost: 150
  })
}

/** Turns on an agent that is kept, beside prompts to one that runs. */
const laterTurns = async ({ report, settings }, server, gateway) => {
  const agent = await bareAgent(gateway)
  const { id } = await server.newSession({ prewarm: false })
  await agent.prompt()
  await turn(server, id)
  const times = { bare: [], reins: [] }
  for (let sample = 0; sample < 2 * settings.samples; sample++) {
    const begun = now()
    times.bare.push((await agent.prompt()) - begun)
    times.reins.push(await turn(server, id))
  }
  await agent.stop()
  report.note(
    `${shown(times.bare)} over the bare protocol and ${shown(times.reins)} through the API, ${ratioOf(times)}`
  )
  report.figure("Second turn of opencode, to its first word, more than a bare prompt", addedTo(times), "ms", {
    atMost: 150
  })
  await server.reins.jobs.wait(await server.reins.sessions.releaseExecutor({ session_id: id }))
}

/** The first turn of sessions whose agents were started while their first messages were written. */
const startsAhead = async ({ report, settings }, server) => {
  const times = []
  for (let sample = 0; sample < Math.ceil(settings.samples / 2); sample++) {
    const { id } = await server.newSession()
    await setTimeout(writingMs)
    times.push(await turn(server, id))
    await server.reins.jobs.wait(await server.reins.sessions.releaseExecutor({ session_id: id }))
  }
  report.figure("First turn of opencode, to its first word, on an agent that was started ahead", median(times), "ms")
}

/** The pairs are taken one after the other, so that what else the machine does is in both of a pair. */
const paired = ({ bare, reins }, compare) => median(reins.map((time, sample) => compare(time, bare[sample])))
const addedTo = (times) => paired(times, (reins, bare) => reins - bare)
const ratioOf = (times) => `${paired(times, (reins, bare) => reins / bare).toFixed(2)} times as long`

const shown = (times) => `${median(times).toFixed(0)} ms`

/** Sends a message and gives the time until the first word of the answer. The stream is open before. */
const turn = async (server, sessionId) => {
  const { event_watermark: after } = await server.reins.sessions.get({ session_id: sessionId })
  let first
  const note = () => {
    first ??= now()
  }
  const events = server.reins.sessions.stream({ session_id: sessionId, after, onDelta: note })
  const ended = (async () => {
    for await (const { payload, type } of events) {
      if (type === "message.part_added" || type === "message.part_updated") note()
      if (type === "turn.succeeded") return
      if (/^turn\.(?:failed|cancelled|interrupted)$/.test(type))
        throw new Error(`the turn ${payload.turn.state}: ${payload.turn.reason_message}`)
    }
  })()
  const sent = now()
  await server.reins.messages.send({ session_id: sessionId, content: said() })
  await ended
  return first - sent
}

/** The input that alpha's agent is started with, as Reins would start it, but for the gateway itself in the place of the relay. */
const commandOf = (gateway, place) =>
  Effect.gen(function* () {
    const manifest = yield* (yield* Manifests).get("alpha")
    const found = yield* (yield* HarnessInstall).find("alpha")
    if (Option.isNone(found))
      return yield* Effect.dieMessage("opencode is not installed: reins harnesses install alpha")
    const input = {
      manifest,
      installed: found.value,
      leaseId: "bench",
      executor: yield* Local.make("bench"),
      ...place,
      connection: {
        kind: "alpha_gateway",
        settings: { base_url: gateway.url },
        secrets: { api_key: Redacted.make(apiKey) }
      },
      model: "scripted-1",
      nativeSessionId: null
    }
    return yield* Launch.prepare(input, manifest.runtime)
  }).pipe(Effect.provide(programs), Effect.runPromise)

const { cacheDir } = CoreConfig.from({ dataDir: directory })
const programs = Layer.provideMerge(HarnessInstall.layer(cacheDir), Manifests.layer)

/** Starts the agent in a home and a repository of its own and opens a session, over the protocol alone. */
const bareAgent = async (gateway) => {
  const place = mkdtempSync(join(directory, "bare-agent-"))
  const workspaceDir = join(place, "workspace")
  // The workspace of a session is a repository, with which the agent has work of its own.
  execFileSync("git", ["init", "--quiet", workspaceDir])
  const command = await commandOf(gateway, { homeDir: join(place, "home"), workspaceDir })
  for (const made of [workspaceDir, command.tmpDir]) mkdirSync(made, { recursive: true })
  const child = track(
    spawn(command.executable, command.args, {
      cwd: workspaceDir,
      env: environmentOf(command, "bench", inheritedVariables),
      stdio: ["pipe", "pipe", "ignore"]
    })
  )
  const waiting = new Map()
  let spoke = () => {}
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { error, id, method, params, result } = JSON.parse(line)
    if (params?.update?.sessionUpdate === "agent_message_chunk") spoke()
    if (method !== undefined) return
    const { reject, resolve } = waiting.get(id)
    if (error === undefined) resolve(result)
    else reject(new Error(JSON.stringify(error)))
  })
  let requests = 0
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++requests, { resolve, reject })
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: requests, method, params })}\n`)
    })
  await ask("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "bench", version: "1" } })
  const { sessionId } = await ask("session/new", { cwd: workspaceDir, mcpServers: [] })
  return {
    /** Says something and gives the time of the first word of the answer, once all of it is there. */
    prompt: async () => {
      const first = new Promise((resolve) => {
        spoke = () => resolve(now())
      })
      await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: said() }] })
      return first
    },
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", resolve)
        child.stdin.end()
      })
  }
}
