// A bot of Slack: a mention starts a session, answers go to its thread, and approvals are buttons. README.md says how to set it up.
//
//   REINS_URL=... REINS_API_KEY=... REINS_PROJECT=prj_... SLACK_BOT_TOKEN=xoxb-... SLACK_SIGNING_SECRET=... SLACK_USERS=U1,U2 node slack.mjs

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { Reins } from "@reins/client"
import { isFromSlack, slackApi } from "./api.mjs"
import { makeBot } from "./bot.mjs"

const needed = ["REINS_URL", "REINS_API_KEY", "REINS_PROJECT", "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_USERS"]
const missing = needed.filter((name) => !process.env[name])
if (missing.length > 0) {
  console.error(`Missing: ${missing.join(", ")}. README.md says what they are.`)
  process.exit(1)
}
const { PORT = "3000", REINS_API_KEY, REINS_PROJECT, REINS_URL, SLACK_SIGNING_SECRET, SLACK_USERS } = process.env
const { SLACK_API_URL, SLACK_BOT_TOKEN, SLACK_STATE = "slack-position" } = process.env

const reins = new Reins({ baseUrl: REINS_URL, apiKey: REINS_API_KEY })
const project = await reins.projects.get({ project_id: REINS_PROJECT })
const bot = makeBot({
  reins,
  project,
  slack: slackApi({ token: SLACK_BOT_TOKEN, ...(SLACK_API_URL && { baseUrl: SLACK_API_URL }) }),
  users: new Set(SLACK_USERS.split(",").map((user) => user.trim()))
})

/** The largest request that is read, in bytes. Those of Slack are far smaller. */
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

/** Gives the status and the words of the answer to a request. */
const answerTo = async (request) => {
  const body = await bodyOf(request)
  if (body === undefined) return { status: 413, text: "" }
  if (!isFromSlack({ body, headers: request.headers, signingSecret: SLACK_SIGNING_SECRET }))
    return { status: 401, text: "" }
  if (request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded")) {
    await bot.onClick(JSON.parse(new URLSearchParams(body.toString()).get("payload")))
    return { status: 200, text: "" }
  }
  const call = JSON.parse(body.toString())
  // Slack sends this once, when somebody enters the address of the bot.
  if (call.type === "url_verification") return { status: 200, text: call.challenge }
  if (call.type === "event_callback") await bot.onEvent(call)
  return { status: 200, text: "" }
}

const server = createServer(async (request, response) => {
  try {
    const { status, text } = await answerTo(request)
    response.writeHead(status, { "content-type": "text/plain" }).end(text)
  } catch (error) {
    console.error(error)
    // Slack sends an event again that was not answered with 200.
    response.writeHead(503).end()
  }
})

/** The position in the events of the workspace, kept in a file so that a restart misses none. */
const firstPosition = async () => {
  if (existsSync(SLACK_STATE)) return Number(readFileSync(SLACK_STATE, "utf8"))
  const { event_watermark } = await reins.workspaces.listEvents({ workspace_id: project.workspace_id, limit: 1 })
  return event_watermark
}
const save = (position) => {
  writeFileSync(`${SLACK_STATE}.new`, String(position))
  renameSync(`${SLACK_STATE}.new`, SLACK_STATE)
}

const after = await firstPosition()
save(after)
// It hears nothing before the position is kept, so no answer comes before it.
server.listen(Number(PORT), () => console.log(`Listening on port ${server.address().port}`))
await bot.follow({ after, save })
