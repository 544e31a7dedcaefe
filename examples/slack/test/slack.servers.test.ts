import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, it, vi } from "vitest"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"
import { type SlackCall, signingSecret, startSlack } from "./SlackStandIn.js"

let gateway: Gateway
let slack: Awaited<ReturnType<typeof startSlack>>
let directory: string
let server: ServerProcess
let client: Reins
let workspace_id: string
let env: Record<string, string>
let bot: ChildProcess | undefined

beforeEach(async () => {
  gateway = await startGateway({ apiKey: gatewayKey })
  slack = await startSlack()
  directory = mkdtempSync(join(tmpdir(), "reins-slack-"))
  const dataDir = join(directory, "data")
  server = await startServer({ dataDir, env: { REINS_MANIFESTS_DIR: manifestsWithSmallAgent(directory) } })
  const caller = await newCaller(server, dataDir, gateway)
  client = caller.at(server)
  workspace_id = caller.workspaceId
  const harness = { provider_id: "alpha", model: "scripted-1" }
  const spec = { harness, permissions: { default: "ask" as const } }
  const { id } = await client.projects.create({ workspace_id, slug: "bot", name: "Bot", spec })
  env = {
    REINS_URL: server.url,
    REINS_API_KEY: caller.apiKey,
    REINS_PROJECT: id,
    SLACK_API_URL: slack.url,
    SLACK_BOT_TOKEN: slack.token,
    SLACK_SIGNING_SECRET: signingSecret,
    SLACK_STATE: join(directory, "position"),
    SLACK_USERS: "U1, U2",
    PORT: "0"
  }
})
afterEach(async () => {
  await stopBot()
  server.kill("SIGTERM")
  await server.ended
  await gateway.close()
  slack.close()
  rmSync(directory, { recursive: true, force: true })
})

const position = () => readFileSync(env["SLACK_STATE"] ?? "", "utf8")

/** Starts the bot, and gives its address. */
const startBot = async (): Promise<string> => {
  const started = spawn(process.execPath, [join(import.meta.dirname, "../slack.mjs")], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  bot = started
  for await (const chunk of started.stdout) {
    const port = /Listening on port (\d+)/.exec(String(chunk))?.[1]
    if (port !== undefined) return `http://127.0.0.1:${port}`
  }
  throw new Error("The bot ended before it listened")
}

const stopBot = async () => {
  if (bot === undefined || bot.exitCode !== null || bot.signalCode !== null) return
  const ended = once(bot, "exit")
  bot.kill("SIGKILL")
  await ended
}

const until = <A>(get: () => A | undefined): Promise<A> =>
  vi.waitUntil(get, { timeout: 60_000, interval: 10 }) as Promise<A>

const posted = (method: string, text: RegExp | string) =>
  slack.calls.filter((call) => call.method === method && call.text.match(text))
const one = (method: string, text: RegExp | string) => until(() => posted(method, text)[0])

/** The value of a button of a question. */
const valueOf = ({ blocks }: SlackCall, name: string) => {
  const buttons = blocks?.flatMap(({ elements }) => elements ?? []) ?? []
  return buttons.find(({ value }) => JSON.parse(value).name === name)?.value ?? ""
}

const sessions = async () => (await client.sessions.list({ workspace_id })).items

const mention = (text: string, more: object = {}) => ({
  ...{ type: "app_mention", channel: "C1", user: "U1", ts: "1.1", text: `<@UBOT> ${text}` },
  ...more
})

/** A text as Slack sends it. */
const sent = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

it("a mention starts one session, a button approves, and answers go to the thread, over a kill of the bot", async () => {
  let url = await startBot()
  const begun = position()
  const write = { tool: "write", path: "NOTES.md", content: "1 < 2 && 3\n" }
  const task = mention(sent(script("Take a note.", write, { say: "Noted, <!channel> & all." })))
  assert.strictEqual((await slack.event(url, "Ev1", task)).status, 200)
  // Slack repeats an event whose answer came late.
  for (let again = 0; again < 3; again++) assert.strictEqual((await slack.event(url, "Ev1", task)).status, 200)

  const question = await one("chat.postMessage", /./)
  assert.deepInclude(question, { channel: "C1", thread_ts: "1.1" })
  assert.strictEqual(question.blocks?.[0]?.text?.type, "plain_text")
  // A bot that is killed between a post and its position posts once more.
  await until(() => (position() === begun ? undefined : true))
  await stopBot()
  url = await startBot()
  // A stranger is told so, and decides nothing.
  const allow = valueOf(question, "Allow once")
  assert.strictEqual((await slack.click(url, allow, { user: "U9" })).status, 200)
  assert.deepInclude(slack.calls.at(-1), { method: "chat.postEphemeral", user: "U9" })
  slack.limit(0)
  assert.strictEqual((await slack.click(url, allow, { ts: "1700000000.000001", text: question.text })).status, 200)
  const updated = await one("chat.update", /Allow once, said <@U1>/)
  assert.deepInclude(updated, { channel: "C1", ts: "1700000000.000001" })
  const answer = await one("chat.postMessage", "Noted")
  assert.deepInclude(answer, { thread_ts: "1.1", text: "Noted, &lt;!channel&gt; &amp; all." })
  // A later answer is told that the question has one.
  assert.strictEqual((await slack.click(url, allow, { user: "U2", text: question.text })).status, 200)
  await until(() => posted("chat.update", /./)[1])

  await slack.event(
    url,
    "Ev2",
    mention(sent(script("And now?", { say: "Nothing more." })), { ts: "1.9", thread_ts: "1.1" })
  )
  assert.deepInclude(await one("chat.postMessage", "Nothing more"), { thread_ts: "1.1" })
  const [session, ...others] = await sessions()
  assert.lengthOf(others, 0)
  assert.deepStrictEqual(session?.labels, { slack: "T1/C1/1.1" })
  const { items: turns } = await client.turns.list({ session_id: session?.id ?? "" })
  assert.lengthOf(turns, 2)
  assert.lengthOf(posted("chat.postMessage", /./), 3)
}, 180_000)

it("what Slack has not signed, and what others say, starts nothing", async () => {
  const url = await startBot()
  const challenge = JSON.stringify({ type: "url_verification", challenge: "a challenge" })
  assert.deepStrictEqual(await slack.send(url, challenge), { status: 200, text: "a challenge" })
  const body = JSON.stringify({ type: "event_callback", team_id: "T1", event_id: "Ev1", event: mention("Hello.") })
  assert.strictEqual((await slack.send(url, body, { secret: "another" })).status, 401)
  assert.strictEqual((await slack.send(url, body, { age: 301 })).status, 401)
  // Time goes on until the bot looks, so a time ahead is nearer then.
  assert.strictEqual((await slack.send(url, body, { age: -360 })).status, 401)
  assert.strictEqual((await fetch(url, { method: "POST", body })).status, 401)
  assert.strictEqual((await fetch(url)).status, 401)

  await slack.event(url, "Ev2", mention("Hello.", { user: "U9" }))
  await slack.event(url, "Ev3", mention("Hello.", { bot_id: "B1" }))
  await slack.event(url, "Ev4", {
    type: "message",
    channel: "C1",
    channel_type: "channel",
    user: "U1",
    text: "Hello.",
    ts: "2"
  })
  await slack.event(url, "Ev5", {
    type: "message",
    channel: "D1",
    channel_type: "im",
    user: "U1",
    subtype: "message_changed"
  })
  assert.deepStrictEqual(
    slack.calls.map(({ method, user }) => [method, user]),
    [["chat.postEphemeral", "U9"]]
  )
  assert.lengthOf(await sessions(), 0)

  // A message to the bot itself needs no mention.
  const direct = { type: "message", channel: "D1", channel_type: "im", user: "U2", ts: "3.1" }
  await slack.event(url, "Ev6", { ...direct, text: sent(script("Hello.", { say: "Hello to you." })) })
  assert.deepInclude(await one("chat.postMessage", "Hello to you"), { channel: "D1", thread_ts: "3.1" })
  // A turn that fails says why.
  await slack.event(url, "Ev7", { ...direct, ts: "4.1", text: sent(script("Fail.", { error: 401 })) })
  assert.deepInclude(await one("chat.postMessage", /^The turn failed: ./), { thread_ts: "4.1" })
}, 180_000)
