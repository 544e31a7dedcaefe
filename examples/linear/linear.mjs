// Work from Linear: an issue that gets a label starts a session, and the agent's answer is a comment. README.md says how to set it up.
//
//   REINS_URL=... REINS_API_KEY=... REINS_PROJECT=prj_... LINEAR_API_KEY=lin_api_... LINEAR_WEBHOOK_SECRET=... node linear.mjs

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { Reins } from "@reins/client"
import { callFromLinear, linearApi } from "./api.mjs"
import { makeBot } from "./bot.mjs"

const needed = ["REINS_URL", "REINS_API_KEY", "REINS_PROJECT", "LINEAR_API_KEY", "LINEAR_WEBHOOK_SECRET"]
const missing = needed.filter((name) => !process.env[name])
if (missing.length > 0) {
  console.error(`Missing: ${missing.join(", ")}. README.md says what they are.`)
  process.exit(1)
}
const { LINEAR_WEBHOOK_SECRET, PORT = "3000", REINS_API_KEY, REINS_PROJECT, REINS_URL } = process.env
const { LINEAR_API_KEY, LINEAR_API_URL, LINEAR_LABEL = "reins", LINEAR_STATE = "linear-position" } = process.env

const reins = new Reins({ baseUrl: REINS_URL, apiKey: REINS_API_KEY })
const project = await reins.projects.get({ project_id: REINS_PROJECT })
const bot = makeBot({
  reins,
  project,
  wanted: LINEAR_LABEL,
  linear: linearApi({ apiKey: LINEAR_API_KEY, ...(LINEAR_API_URL && { url: LINEAR_API_URL }) })
})

/** The largest request that is read, in bytes. */
const longest = 1024 * 1024

const bodyOf = async (request) => {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > longest) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Gives the status of the answer to a request. */
const answerTo = async (request) => {
  const body = await bodyOf(request)
  if (body === undefined) return 413
  const { "linear-delivery": delivery, "linear-signature": signature } = request.headers
  const call = callFromLinear({ body, signature, secret: LINEAR_WEBHOOK_SECRET })
  if (call === undefined) return 401
  await bot.onCall(call, delivery)
  return 200
}

const server = createServer(async (request, response) => {
  try {
    response.writeHead(await answerTo(request)).end()
  } catch (error) {
    console.error(error)
    // Linear sends a call again that was not answered with 200.
    response.writeHead(503).end()
  }
})

/** The position in the events of the workspace, kept in a file so that a restart misses none. */
const firstPosition = async () => {
  if (existsSync(LINEAR_STATE)) return Number(readFileSync(LINEAR_STATE, "utf8"))
  const { event_watermark } = await reins.workspaces.listEvents({ workspace_id: project.workspace_id, limit: 1 })
  return event_watermark
}
const save = (position) => {
  writeFileSync(`${LINEAR_STATE}.new`, String(position))
  renameSync(`${LINEAR_STATE}.new`, LINEAR_STATE)
}

const after = await firstPosition()
save(after)
// It hears nothing before the position is kept, so no answer comes before it.
server.listen(Number(PORT), () => console.log(`Listening on port ${server.address().port}`))
await bot.follow({ after, save })
