import { execFileSync, spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForFile } from "@reins/testing/process/Place"
import { published, startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, beforeAll, describe, it } from "vitest"
import { makeProject } from "../test/cli/Cli.js"

const place = placeForFile()
const here = import.meta.dirname
const acpx = join(here, "node_modules/acpx/dist/cli.js")

let newerNode = ""
let env: NodeJS.ProcessEnv = {}
let folder = ""
let listed: () => Promise<ReadonlyArray<{ readonly id: string; readonly title: string | null }>> = async () => []

beforeAll(async () => {
  const nodes = join(here, "../../../scripts/nodes.mjs")
  const bin = execFileSync(process.execPath, [nodes, "24", "--where"], { encoding: "utf8" }).trim()
  newerNode = join(bin, "node")
  const { dataDir, directory, gateway } = place
  const server = await startServer({ dataDir, env: { REINS_ALLOW_LOCAL_REPOSITORIES: "true" } })
  const caller = await newCaller(server, dataDir, gateway)
  folder = makeProject(directory).folder
  const home = join(directory, "home")
  mkdirSync(home)
  env = { ...process.env, HOME: home, REINS_URL: server.url, REINS_API_KEY: caller.apiKey }
  listed = async () => (await caller.at(server).sessions.list({ workspace_id: caller.workspaceId })).items
}, 120_000)

/** Runs acpx on `reins acp`, to its end. */
const run = (...args: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const agent = `${process.execPath} ${published} acp`
    const child = spawn(newerNode, [acpx, "--cwd", folder, "--approve-all", "--ttl", "1", "--agent", agent, ...args], {
      env
    })
    let said = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += String(chunk)
      })
    child.once("close", (status) =>
      status === 0 ? resolve(said) : reject(new Error(`acpx ended with ${status}:\n${said}`))
    )
  })

const write = script(
  "Write.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

describe("acpx drives reins acp with the real agent of alpha", () => {
  it("in one go", { timeout: 300_000 }, async () => {
    const said = await run("exec", write)
    assert.match(said, /I write it\.[\s\S]*There it is\./)
    assert.include(said, "1 file changed")
  })

  it("as messages of the protocol, each of them JSON", { timeout: 300_000 }, async () => {
    const said = await run("--format", "json", "--json-strict", "exec", script("Say.", { say: "In lines." }))
    const lines = said
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line))
    assert.include(JSON.stringify(lines), "agent_message_chunk")
    assert.include(JSON.stringify(lines), "end_turn")
  })

  it("in a session of its own, which a second run goes on with", { timeout: 300_000 }, async () => {
    const before = (await listed()).length
    await run("sessions", "new")
    assert.include(await run(script("One.", { say: "The first." })), "The first.")
    assert.include(await run(script("Two.", { say: "The second." })), "The second.")
    assert.lengthOf(await listed(), before + 1)
    await run("sessions", "close")
  })
})
