import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { callingAgents } from "@reins/testing/harness/SmallAgent"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { begin, reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: callingAgents })

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** A turn that runs the steps, with the question or the call that its agent waits for. */
const asked = async (
  steps: ReadonlyArray<Parameters<typeof script>[1]>,
  functions: ReadonlyArray<typeof lookup> = [],
  project_id?: string
) => {
  const { client, project, workspaceId } = world()
  const session = await client.sessions.create({
    workspace_id: workspaceId,
    ...(project_id === undefined ? { repository: { url: project.remote } } : { project_id }),
    harness: { provider_id: "alpha", model: "scripted-1" }
  })
  const sent = await client.messages.send({
    session_id: session.id,
    content: script("Do it.", ...steps, { say: "Done." }),
    ...(functions.length > 0 && { tools: { functions } })
  })
  const turn_id = sent.turn_id ?? ""
  const open = async () => (await client.interactions.list({ session_id: session.id, state: "pending" })).items[0]
  return {
    session,
    turn_id,
    interaction: () => eventually("the agent asks", open),
    end: () => client.turns.wait({ turn_id })
  }
}

/** The words that the model was told by tools in its newest request. */
const told = () =>
  (world().gateway.requests.at(-1)?.messages ?? []).filter(({ role }) => role === "tool_result").map(({ text }) => text)

describe("the tools of agents on the command line", () => {
  it("a call of a function is listed, answered with --result, and told by tool-calls", async () => {
    const { at } = world()
    const { end, interaction, session, turn_id } = await asked(
      [{ tool: "lookup_ticket", args: { ticket: 7 } }],
      [lookup]
    )
    const { id } = await interaction()
    const listed = await reinsAt(at, ["requests", session.id])
    assert.match(listed.stdout, new RegExp(`^${id} +${session.id} +\\d\\d:\\d\\d +--result +lookup_ticket$`, "m"))
    const without = await reinsAt(at, ["answer", id, "yes"])
    assert.deepStrictEqual(
      [without.status, without.stderr],
      [1, `reins: ${id} is the call of a function. Answer it with --result.\n`]
    )
    const noJson = await reinsAt(at, ["answer", id, "--result", "done"])
    assert.match(noJson.stderr, /--result takes JSON/)
    const answered = await reinsAt(at, ["answer", id, "--result", '{"title":"Broken"}'])
    assert.deepStrictEqual([answered.status, answered.stderr], [0, "Answered.\n"])
    assert.strictEqual((await end()).state, "succeeded")
    assert.deepStrictEqual(told(), ['{"title":"Broken"}'])
    const calls = await reinsAt(at, ["tool-calls", turn_id])
    assert.match(
      calls.stdout,
      /^TIME +TOOL +STATE +TOOK +BYTES\n\d\d:\d\d:\d\d +lookup_ticket +succeeded +\d+ ms +18\n$/
    )
    const json = await reinsAt(at, ["tool-calls", turn_id, "--json"])
    assert.deepInclude(JSON.parse(json.stdout), { turn_id, tool: "lookup_ticket", state: "succeeded" })
  })

  variants(() => {
    it("an answer with --error tells the model that the call failed", async () => {
      const { end, interaction, turn_id } = await asked([{ tool: "lookup_ticket", args: { ticket: 7 } }], [lookup])
      const { id } = await interaction()
      const { status } = await reinsAt(world().at, ["answer", id, "--result", '"There is no ticket 7."', "--error"])
      assert.strictEqual(status, 0)
      await end()
      assert.include(told()[0], "There is no ticket 7.")
      const { stdout } = await reinsAt(world().at, ["tool-calls", turn_id, "--json"])
      assert.strictEqual(JSON.parse(stdout).state, "failed")
    })
  })

  it("tools serve answers the calls of the functions of a module until it is stopped", async () => {
    const { at } = world()
    writeFileSync(
      join(at.cwd, "tools.mjs"),
      `export default { lookup_ticket: { description: "x", input: { type: "object" }, run: ({ ticket }) => "ticket " + ticket } }\n`
    )
    const serving = begin(at, ["tools", "serve", "./tools.mjs"])
    await eventually("it serves", () => /Answers lookup_ticket/.test(serving.output()))
    const { end } = await asked([{ tool: "lookup_ticket", args: { ticket: 8 } }], [lookup])
    assert.strictEqual((await end()).state, "succeeded")
    assert.deepStrictEqual(told(), ["ticket 8"])
    process.kill(serving.pid, "SIGTERM")
    assert.strictEqual((await serving.finished).status, 143, serving.output())
  })

  it("a question of an agent is answered by an option, and a form with --content", async () => {
    const { at } = world()
    const choice = await asked([{ tool: "ask_user", args: { question: "Which one?", options: ["Red", "Blue"] } }])
    const { id } = await choice.interaction()
    assert.strictEqual((await reinsAt(at, ["answer", id, "blue", "--note", "It is warmer."])).status, 0)
    await choice.end()
    assert.deepStrictEqual(JSON.parse(told()[0] ?? ""), { answer: "Blue", note: "It is warmer." })
    const form = await asked([
      { tool: "ask_user", args: { question: "Where?", form: [{ name: "port", type: "integer" }] } }
    ])
    const { id: open } = await form.interaction()
    const bare = await reinsAt(at, ["answer", open, "accept"])
    assert.deepStrictEqual([bare.status, bare.stderr], [1, "reins: Give the values with --content, as JSON: port.\n"])
    const noObject = await reinsAt(at, ["answer", open, "accept", "--content", "80"])
    assert.match(noObject.stderr, /--content takes a JSON object/)
    assert.strictEqual((await reinsAt(at, ["answer", open, "accept", "--content", '{"port":80}'])).status, 0)
    await form.end()
    assert.deepStrictEqual(told(), ['{"port":80}'])
  })

  it("a call that a project asks people for is shown with its server, tool and input, and made once it is allowed", async () => {
    const { at, client, workspaceId: workspace_id } = world()
    const scope = await Effect.runPromise(Scope.make())
    try {
      const server = await Effect.runPromise(Scope.extend(mcpServer(), scope))
      const lab = { name: "lab", url: server.url, allow: ["add_comment"], permissions: { add_comment: "ask" as const } }
      const spec = { tools: { mcp_servers: [lab] } }
      const { id: project_id } = await client.projects.create({ workspace_id, slug: "lab", name: "Lab", spec })
      const call = { tool: "add_comment", args: { text: "It works." } }
      const { end, interaction, session } = await asked([call, call], [], project_id)
      const first = await interaction()
      const listed = await reinsAt(at, ["requests", session.id])
      assert.match(listed.stdout, new RegExp(`^${first.id} +${session.id} +\\S+ +allow,reject +lab: add_comment$`, "m"))
      assert.include(listed.stdout, `\n${first.id}:\n  Tool: lab: add_comment\n  text: It works.\n`)
      assert.lengthOf(server.calls, 0)
      assert.strictEqual((await reinsAt(at, ["answer", first.id, "Allow once"])).status, 0)
      const second = await eventually("the agent asks again", async () => {
        const found = await interaction()
        return found.id === first.id ? undefined : found
      })
      assert.deepStrictEqual(server.calls, [{ tool: "add_comment", input: { text: "It works." } }])
      const refused = await reinsAt(at, ["answer", second.id, "reject", "--note", "Once is enough."])
      assert.deepStrictEqual(
        [refused.status, refused.stderr],
        [0, "Tool: lab: add_comment\ntext: It works.\nAnswered.\n"]
      )
      assert.strictEqual((await end()).state, "succeeded")
      assert.lengthOf(server.calls, 1)
      assert.include(told()[0], "Issue")
      assert.strictEqual(told()[1], "Error: The call was refused. Once is enough.")
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  })

  it("a published file is listed, saved under its name and written over when a file is named", async () => {
    const { at } = world()
    const { end, session } = await asked([
      { tool: "write", path: "out/report.txt", content: "It works.\n" },
      { tool: "publish_artifact", args: { path: "out/report.txt", title: "The report" } }
    ])
    await end()
    const list = await reinsAt(at, ["artifacts", "list", session.id])
    const [, id = ""] = /^(art_\w+) +\S+ \S+ +10 +The report$/m.exec(list.stdout) ?? []
    const saved = await reinsAt(at, ["artifacts", "get", id])
    assert.deepStrictEqual([saved.status, saved.stderr], [0, "The file is in report.txt.\n"])
    assert.strictEqual(readFileSync(join(at.cwd, "report.txt"), "utf8"), "It works.\n")
    assert.match((await reinsAt(at, ["artifacts", "get", id])).stderr, /report\.txt cannot be written \(EEXIST/)
    assert.strictEqual((await reinsAt(at, ["artifacts", "get", id, "-o", "report.txt"])).status, 0)
    assert.strictEqual((await reinsAt(at, ["artifacts", "get", id, "-o", "-"])).stdout, "It works.\n")
  })

  it("a folder is kept as a skill of a project", async () => {
    const { at, client, workspaceId } = world()
    const { id } = await client.projects.create({ workspace_id: workspaceId, slug: "skilled", name: "Skilled" })
    const project = ["--project", id]
    writeFileSync(join(at.cwd, "SKILL.md"), "---\nname: notes\ndescription: Writes notes.\n---\nRead first.\n")
    assert.match((await reinsAt(at, ["skills", "push", "nowhere", ...project])).stderr, /The folder cannot be read/)
    const pushed = await reinsAt(at, ["skills", "push", ".", ...project])
    assert.strictEqual(pushed.status, 0, pushed.stderr)
    assert.deepInclude(JSON.parse(pushed.stdout), { name: "notes" })
    const list = await reinsAt(at, ["skills", "list", ...project])
    assert.match(list.stdout, /^notes +[0-9a-f]{10} .+ Writes notes\.$/m)
  })
})
