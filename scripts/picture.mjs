#!/usr/bin/env node
// The picture of a run in the README. It records a run of the real agent, with a scripted model, to docs/run.jsonl, an event a line, and draws
// docs/run.svg from that:
//   node scripts/picture.mjs           records and draws
//   node scripts/picture.mjs --draw    draws what was recorded
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const recording = join(root, "docs/run.jsonl")
const picture = join(root, "docs/run.svg")
const message = "The test of this project fails. Find out why and make it pass."

/** Runs the work of the demo and gives back the events of its session, without the directory in which it happened to run. */
const record = async () => {
  const { Reins } = await import("@reins/client")
  const { chooseGateway, makeRemote, startServer } = await import("../examples/demo/world.mjs")
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "reins-picture-")))
  const dataDir = join(directory, "data")
  const gateway = await chooseGateway()
  const server = await startServer(dataDir, [new URL(gateway.url).host])
  try {
    const reins = new Reins({ baseUrl: server.url, apiKey: keyOf(dataDir) })
    const { workspaces } = await reins.accounts.getMe()
    const workspace_id = workspaces[0].id
    const credential = { base_url: gateway.url, api_key: gateway.apiKey }
    await reins.connections.create({ workspace_id, kind: "alpha_gateway", label: "gateway", credential })
    const harness = { provider_id: "alpha", model: gateway.model }
    const repository = { url: makeRemote(directory).url }
    const { id: session_id } = await reins.sessions.create({
      workspace_id,
      title: "Count every piece",
      repository,
      harness
    })
    await reins.run({ session_id, content: message }).final()
    const { items } = await reins.sessions.listChangesets({ session_id })
    const { operation } = await reins.changesets.deliver({ changeset_id: items[0].id })
    await reins.jobs.wait({ job_id: operation.job_id })
    const page = await reins.sessions.listEvents({ session_id, limit: 1000 })
    return page.items.map((event) => JSON.stringify(event).replaceAll(directory, "/srv/reins"))
  } finally {
    await server.stop()
    await gateway.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const keyOf = (dataDir) => {
  const run = (args, env = {}) =>
    execFileSync(process.execPath, [join(root, "packages/server/dist/main.js"), ...args, "--data-dir", dataDir], {
      encoding: "utf8",
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "ignore"]
    }).trim()
  const email = "you@example.com"
  run(["accounts", "create", "--email", email], { REINS_PASSWORD: "a long passphrase" })
  return run(["keys", "create", "--email", email, "--name", "picture"])
}

/** The words of the picture for an event, as the text beside its type; undefined for an event that it leaves out. */
const words = {
  "message.accepted": ({ message: { content } }) => content[0].text,
  "turn.started": () => "opencode is asked",
  "tool.completed": ({ kind, state, title }) => `${kind} ${title} (${state})`,
  "message.completed": ({ message: { content } }) => content.at(-1).text,
  "changeset.ready": ({ additions, deletions, file_count }) =>
    `sealed: ${file_count} file, +${additions} -${deletions}`,
  "turn.succeeded": ({ turn }) => `${(turn.usage.input_tokens ?? 0) + (turn.usage.output_tokens ?? 0)} tokens`,
  "delivery.requested": () => "a branch of the repository",
  "delivery.succeeded": ({ target_ref }) => `pushed ${target_ref}`
}

const colors = { message: "#7ee0ff", turn: "#ffd479", tool: "#c4b5fd", changeset: "#86efac", delivery: "#86efac" }

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const shortened = (text, most) => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

/** Draws a recording as an SVG of a terminal. */
export const draw = (lines) => {
  const events = lines.map((line) => JSON.parse(line))
  const begun = Date.parse(events[0].recorded_at)
  const rows = events.flatMap(({ payload, recorded_at, seq, type }) => {
    const say = words[type]
    if (say === undefined) return []
    const seconds = `${((Date.parse(recorded_at) - begun) / 1000).toFixed(1)} s`
    return [[String(seq), seconds, type, shortened(say(payload), 62)]]
  })
  const row = ([seq, seconds, type, text], index) => {
    const y = 76 + index * 24
    const cell = (x, color, content, anchor = "start") =>
      `<text x="${x}" y="${y}" fill="${color}" text-anchor="${anchor}">${escaped(content)}</text>`
    return [
      cell(56, "#6b7280", seq, "end"),
      cell(120, "#6b7280", seconds, "end"),
      cell(140, colors[type.split(".")[0]], type),
      cell(310, "#e5e7eb", text)
    ].join("")
  }
  const height = 76 + rows.length * 24
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${height}" width="860" height="${height}" role="img" aria-label="The events of one run">
<rect width="860" height="${height}" rx="10" fill="#111827"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">
<text x="24" y="36" fill="#9ca3af">One session of ${events.length} events: seq, time, type</text>
${rows.map(row).join("\n")}
</g>
</svg>
`
}

/** The recording in the repository, an event a line. */
export const recorded = () => readFileSync(recording, "utf8").trimEnd().split("\n")

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes("--draw")) writeFileSync(recording, `${(await record()).join("\n")}\n`)
  writeFileSync(picture, draw(recorded()))
}
