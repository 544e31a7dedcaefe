// The door of editors: how soon it answers, and how much later than a plain client it shows the first word of a turn.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { Readable, Writable } from "node:stream"
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk"
import { now } from "./clock.mjs"
import { main } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory, track } from "./processes.mjs"
import { installAgent, serverWith } from "./turns.mjs"

const { agent } = methods

export const acp = async ({ report, settings }) => {
  report.subject("The door of editors, reins acp")
  const server = await serverWith("acp", { REINS_CACHE_DIR: installAgent(join(directory, "acp-marks"), "acp-agents") })
  const ready = []
  const bare = []
  for (let sample = 0; sample < settings.samples; sample++) {
    bare.push(await answerOfNode())
    const editor = openEditor(server)
    await editor.initialize()
    ready.push(performance.now() - editor.began)
    await editor.close()
  }
  report.note(`${settings.samples} starts each, in turns: bare Node ${median(bare).toFixed(0)} ms`)
  report.figure("From the start of reins acp to its first answer", median(ready), "ms", { atMost: 300 })
  report.figure("From the start to the first answer, in starts of bare Node", median(ready) / median(bare), "")
  report.figure("First word at an editor, later than at a client", await later(server, settings), "ms", { atMost: 20 })
  await server.stop()
}

/** The time in which a program of Node alone answers its first line. */
const answerOfNode = async () => {
  const began = performance.now()
  const program = 'process.stdin.once("data", (line) => process.stdout.write(line, () => process.exit()))'
  const child = track(spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] }))
  const ended = once(child, "exit")
  child.stdin.write("{}\n")
  await once(child.stdout, "data")
  const millis = performance.now() - began
  await ended
  return millis
}

const openEditor = ({ headers, url }, shown = () => {}) => {
  const began = performance.now()
  const child = track(
    spawn(process.execPath, [main, "acp"], {
      env: { ...process.env, REINS_URL: url, REINS_API_KEY: headers.Authorization.replace("Bearer ", "") },
      stdio: ["pipe", "pipe", "inherit"]
    })
  )
  const ended = once(child, "exit")
  const connection = client({ name: "bench" })
    .onNotification(methods.client.session.update, ({ params }) => shown(params.update))
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)))
  return {
    began,
    agent: connection.agent,
    initialize: () => connection.agent.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} }),
    close: async () => {
      child.stdin.end()
      await ended
    }
  }
}

/** The time between the first word of a turn at a client that follows the session, and at an editor that does. */
const later = async (server, { samples }) => {
  let atEditor
  const editor = openEditor(server, ({ sessionUpdate }) => {
    if (sessionUpdate === "agent_message_chunk") atEditor ??= now()
  })
  await editor.initialize()
  const { id } = await server.newSession({})
  await editor.agent.request(agent.session.load, { sessionId: id, cwd: directory, mcpServers: [] })
  const differences = []
  for (let sample = 0; sample <= 2 * samples; sample++) {
    const { event_watermark: after } = await server.reins.sessions.get({ session_id: id })
    const stopped = new AbortController()
    let atClient
    const take = () => {
      atClient ??= now()
    }
    const stream = server.reins.sessions.stream({ session_id: id, after, onDelta: take }, { signal: stopped.signal })
    const followed = (async () => {
      for await (const { type } of stream) {
        if (type === "message.part_added") take()
        if (type === "turn.succeeded") return
      }
    })()
    atEditor = undefined
    const prompt = [{ type: "text", text: "Say that it is done." }]
    await editor.agent.request(agent.session.prompt, { sessionId: id, prompt })
    await followed
    stopped.abort()
    // The first turn starts the agent.
    if (sample > 0) differences.push(atEditor - atClient)
  }
  await editor.close()
  return median(differences)
}
