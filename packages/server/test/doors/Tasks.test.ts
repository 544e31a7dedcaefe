import { taskIdOf, taskOf } from "@reins/server/doors/mcp/TaskId"
import { scopeOfTask } from "@reins/server/doors/mcp/Tasks"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { rows } from "@reins/testing/Volume"
import * as fc from "fast-check"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { git, worldForFile } from "../cli/Cli.js"
import { endAssistants, openAssistant, overHttp, overStdio } from "./Assistant.js"
import { endTaskClients, openTaskClient, type TaskClient, type TaskClientOptions } from "./TaskClient.js"

const world = worldForFile()
const asks = worldForFile({ manifests: askingAgents("supported") })
afterAll(endAssistants)
afterAll(endTaskClients)

type World = ReturnType<typeof world>

const client = (options: TaskClientOptions = {}, at: World = world(), query = "") =>
  openTaskClient(() => overHttp(at.url, at.apiKey, query), options)

const write = script(
  "Write.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

const agent = { provider_id: "alpha", model: "scripted-1" }

const input = (message: string, at: World = world()) => ({ repository_url: at.project.remote, message, ...agent })

/** The session and the turn that the handle of a new session leads to. */
const sessionOf = async ({ client: reins, workspaceId }: World) => {
  const { items } = await reins.sessions.list({ workspace_id: workspaceId, limit: 1 })
  return items[0]?.id ?? assert.fail("there is no session")
}

/** The matrix has the other way. */
const ways: Readonly<Record<typeof rows, ReadonlyArray<"http" | "stdio">>> = {
  first: ["http"],
  others: ["stdio"],
  all: ["http", "stdio"]
}

const wayOf = {
  http: () => overHttp(world().url, world().apiKey),
  stdio: () => overStdio(world().at)
}

describe.each(ways[rows])("a client with tasks over %s in the protocol of 2026", (way) => {
  it("gets a handle of the work, and at its end what the tools would have given", async () => {
    const one = await openTaskClient(wayOf[way])
    const made = await one.begin("start_session", input(write))
    assert.deepInclude(made, { status: "working", ttlMs: null, pollIntervalMs: 2000, lastUpdatedAt: made.createdAt })
    assert.notProperty(made, "result")
    const { fields, status } = await one.follow(made.taskId)
    assert.strictEqual(status, "completed")
    const { session_id } = fields
    // A client without tasks is told the same of this turn.
    const plain = await openAssistant(wayOf[way](), { era: "2026" })
    const { next_after: _, ...told } = await plain.call("wait", { session_id, seconds: 0 })
    const { console_url, next_after, turn_id, ...own } = fields
    assert.deepStrictEqual(own, { ...told })
    assert.match(told.said, /I write it\.[\s\S]*There it is\./)
    assert.match(`${turn_id} ${console_url}`, /^turn_\w+ http.*\/ui\/sessions\/sess_\w+$/)
    // The next message, and a result that stays what it was when another turn has followed.
    const next = await one.begin("send_message", { session_id, message: script("Go on.", { say: "Again." }) })
    const { after, ...again } = (await one.follow(next.taskId)).fields
    assert.deepInclude(again, { session_id, said: "Again." })
    assert.isAtLeast(Number(after), Number(next_after))
    assert.deepStrictEqual((await one.follow(made.taskId)).fields, fields)
    const { lastUpdatedAt, result } = await one.look(made.taskId)
    assert.isAtLeast(Date.parse(lastUpdatedAt), Date.parse(made.createdAt))
    assert.deepStrictEqual(JSON.parse(JSON.stringify(result?.structuredContent)), fields)
  })
})

describe("a task of wait", () => {
  it("ends with the turn, or with its seconds, and never cancels the turn", async () => {
    const one = await client()
    const made = await one.begin("start_session", input(endlessTool()))
    const session_id = await sessionOf(world())
    const open = await one.begin("wait", { session_id })
    const short = await one.begin("wait", { session_id, seconds: 1 })
    const { fields } = await one.follow(short.taskId)
    assert.deepInclude(fields, { session_id, ended: false })
    assert.strictEqual((await one.look(open.taskId)).status, "working")
    // A wait without time is no work.
    const now = await one.ask("tools/call", { name: "wait", arguments: { session_id, seconds: 0 } })
    assert.deepInclude(now.result, { resultType: "complete" })
    const { error } = await one.ask("tasks/cancel", { taskId: open.taskId })
    assert.strictEqual(error?.code, -32_600)
    assert.match(error?.message ?? "", /only waits.*cancel_turn with turn_/)
    // The task of the work cancels it.
    assert.deepInclude((await one.ask("tasks/cancel", { taskId: made.taskId })).result, { resultType: "complete" })
    assert.strictEqual((await one.follow(made.taskId)).status, "cancelled")
    const waited = await one.follow(open.taskId)
    assert.deepInclude(waited.fields["turn"], { state: "cancelled" })
    for (const { taskId } of [made, open])
      assert.deepInclude((await one.ask("tasks/cancel", { taskId })).result, { resultType: "complete" })
    // A session that rests is told at once.
    const rests = await one.ask("tools/call", { name: "wait", arguments: { session_id } })
    assert.deepInclude(rests.result, { resultType: "complete" })
  })
})

describe("a client without tasks", () => {
  it("waits as before, and is told what it lacks", async () => {
    const one = await client({ takesTasks: false })
    const { result } = await one.ask("tools/call", { name: "start_session", arguments: input(write) })
    assert.deepInclude(result, { resultType: "complete" })
    const { session_id } = (result?.["structuredContent"] ?? {}) as { readonly session_id?: string }
    const waited = await one.ask("tools/call", { name: "wait", arguments: { session_id } })
    assert.deepInclude(waited.result?.["structuredContent"], { ended: true })
    for (const [method, params] of [
      ["tasks/get", { taskId: "task_x" }],
      ["tasks/update", { taskId: "task_x", inputResponses: {} }],
      ["tasks/cancel", { taskId: "task_x" }],
      ["subscriptions/listen", { notifications: { taskIds: ["task_x"] } }]
    ] as const) {
      const { error } = await one.ask(method, params)
      assert.strictEqual(error?.code, -32_021, method)
      const requiredCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } }
      assert.deepStrictEqual(error?.data, { requiredCapabilities })
    }
    const old = await openAssistant(overHttp(world().url, world().apiKey), { era: "2025" })
    assert.notProperty(old.client.getServerCapabilities() ?? {}, "extensions")
  })
})

/** A task whose agent asks whether it may write, once it does. */
const asking = async (one: TaskClient) => {
  const { id: session_id } = await asks().client.sessions.create({
    workspace_id: asks().workspaceId,
    repository: { url: asks().project.remote },
    harness: agent,
    permissions: { default: "allow", tools: { edit: "ask" } }
  })
  const made = await one.begin("send_message", { session_id, message: write })
  const pending = async () =>
    (await asks().client.interactions.list({ session_id, state: "pending" })).items.map(({ id }) => id)
  await eventually("a question", async () => (await pending()).length === 1)
  return { ...made, session_id, pending }
}

describe("a question of an agent in a task", () => {
  it("is put to the person, and stays open until they have decided", async () => {
    const one = await client({ person: () => undefined }, asks())
    const { pending, session_id, taskId } = await asking(one)
    const { inputRequests = {}, status } = await one.look(taskId)
    assert.strictEqual(status, "input_required")
    const [[key, request] = assert.fail("nothing is asked")] = Object.entries(inputRequests)
    assert.strictEqual(request.method, "elicitation/create")
    for (const part of [session_id, asks().project.remote, "hello.txt", "hi"])
      assert.include(request.params.message, part)
    const update = (inputResponses: unknown) => one.ask("tasks/update", { taskId, inputResponses })
    const accepted = (choice: unknown) => ({ action: "accept", content: { choice } })
    // Nothing of this is a decision.
    for (const given of [
      {},
      { [key]: { action: "decline" } },
      { [key]: { action: "cancel", content: { choice: "allow_once" } } },
      { [`${key}x`]: accepted("allow") },
      { other: accepted("allow"), constructor: accepted("allow") }
    ])
      assert.deepInclude((await update(given)).result, { resultType: "complete" }, JSON.stringify(given))
    for (const given of [{ [key]: accepted("yes, do") }, { [key]: accepted(1) }, { [key]: { action: "accept" } }])
      assert.match((await update(given)).error?.message ?? "", /none of the options/)
    for (const given of [undefined, { [key]: "allow" }, { [key]: { method: "x", result: {} } }])
      assert.strictEqual((await update(given)).error?.code, -32_602, JSON.stringify(given))
    assert.lengthOf(await pending(), 1)
    assert.strictEqual((await one.look(taskId)).status, "input_required")
    // The driver asks the person, and the work goes on to its end.
    const { items } = await asks().client.interactions.list({ session_id, state: "pending" })
    const allow = items[0]?.options.find(({ kind }) => kind === "allow_once")?.id
    const two = await client({ person: () => allow }, asks())
    assert.deepInclude((await two.follow(taskId)).fields["turn"], { state: "succeeded" })
    assert.lengthOf(two.asked, 1)
    const files = await asks().client.sessions.listFiles({ session_id })
    assert.include(
      files.items.map(({ path }) => path),
      "hello.txt"
    )
  })

  it("is the result for a program that cannot show it, or that decides by itself", async () => {
    for (const [options, query] of [
      [{}, ""],
      [{ person: () => "allow" }, "?unattended=true"]
    ] as const) {
      const one = await client(options, asks(), query)
      const { pending, session_id, taskId } = await asking(one)
      const { fields, status } = await one.follow(taskId)
      assert.strictEqual(status, "completed")
      assert.deepInclude(fields, { session_id, ended: false })
      const [interaction_id] = await pending()
      assert.deepInclude((fields["questions"] as ReadonlyArray<object>)[0], { interaction_id })
      assert.lengthOf(one.asked, 0)
      // A task that has ended has ended, also when the question has not.
      const turn_id = String(fields["turn_id"])
      await asks().client.turns.cancel({ turn_id })
      await eventually("the end of the turn", async () => (await pending()).length === 0)
      assert.strictEqual((await one.look(taskId)).status, "completed")
    }
  })
})

describe("a task of deliver", () => {
  it("begins when the person has confirmed it, and ends with the push", async () => {
    const branch = "by-task"
    const has = () => git(world().project.remote, "branch", "--list", branch) !== ""
    const refuses = await client({ person: () => "no" })
    const { fields } = await refuses.follow((await refuses.begin("start_session", input(write))).taskId)
    const changeset_id = (fields["changeset"] as { readonly id: string }).id
    const delivery = { changeset_id, branch, title: "Say hello" }
    const first = await (await refuses.session.callTool("deliver", delivery)).settle()
    assert.strictEqual(first.lastTask, undefined)
    assert.deepInclude(first.outcome, { status: "completed" })
    assert.include(JSON.stringify(first.outcome), "declined")
    assert.lengthOf(refuses.asked, 1)
    // A program that cannot ask is led to the page, and gets no handle.
    const silent = await client()
    const told = await silent.ask("tools/call", { name: "deliver", arguments: delivery })
    assert.deepInclude(told.result?.["structuredContent"], { state: "pending" })
    assert.isFalse(has())
    const one = await client({ person: () => "deliver" })
    const execution = await one.session.callTool("deliver", delivery)
    assert.strictEqual(execution.kind, "task")
    const { outcome } = await execution.settle()
    assert.deepInclude(JSON.parse(JSON.stringify(outcome)).result.structuredContent, {
      state: "succeeded",
      branch,
      changeset_id,
      merge_request: null
    })
    assert.strictEqual(git(world().project.remote, "show", `${branch}:hello.txt`), "hi")
    const { taskId } = execution.handle ?? assert.fail("there is no handle")
    assert.deepInclude((await one.ask("tasks/cancel", { taskId })).result, { resultType: "complete" })
    // A repository without a forge has no merge requests, which is said as the tool says it.
    const wants = await one.session.callTool("deliver", { ...delivery, branch: "with-request", merge_request: true })
    const refused = JSON.stringify((await wants.settle()).outcome)
    assert.include(refused, "connection_required")
    assert.include(refused, '"isError":true')
  })
})

describe("the id of a task", () => {
  it("of nothing, of another kind, forged, too long or of others is refused with words", async () => {
    const one = await client()
    const made = await one.begin("start_session", input(write))
    await one.follow(made.taskId)
    const session_id = await sessionOf(world())
    const [turn] = (await world().client.turns.list({ session_id, limit: 1 })).items
    const named = taskOf(made.taskId) ?? assert.fail("the id names nothing")
    const forged = taskIdOf({ ...named, turn: "turn_00000000000000000000000000" } as typeof named)
    const others = await openTaskClient(() => overHttp(asks().url, asks().apiKey))
    const ids = ["", "task_", "x", `${made.taskId}=`, made.taskId.slice(0, -3), session_id, turn?.id, forged]
    const raw = (value: unknown) => `task_${Buffer.from(JSON.stringify(value)).toString("base64url")}`
    const wrong = [raw([]), raw(["wait", turn?.id]), raw(["deliver", turn?.id, turn?.id, true, 1]), raw({}), "task_%00"]
    for (const taskId of [...ids, ...wrong, "task_".padEnd(100_000, "A").slice(0, 9000)])
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        const { error } = await one.ask(method, { taskId, inputResponses: {} })
        assert.strictEqual(error?.code, -32_602, `${method} ${taskId}`)
        assert.match(error?.message ?? "", /There is no task/)
        assert.isBelow(error?.message.length ?? 0, 700)
      }
    assert.strictEqual((await one.ask("tasks/get", { taskId: 7 })).error?.code, -32_602)
    assert.strictEqual((await one.ask("tasks/list", {})).error?.code, -32_601)
    assert.strictEqual((await one.ask("tasks/result", { taskId: made.taskId })).error?.code, -32_601)
    assert.match((await others.ask("tasks/get", { taskId: made.taskId })).error?.message ?? "", /There is no task/)
  })

  it("serves every key of its account, and no other, as long as the key holds", async () => {
    const { client: owner, url } = world()
    const one = await client()
    const made = await one.begin("start_session", input(endlessTool()))
    const key = await owner.apiKeys.create({ name: "looks", scopes: ["read"] })
    const reader = await openTaskClient(() => overHttp(url, key.secret))
    assert.strictEqual((await reader.look(made.taskId)).status, "working")
    const refused = await reader.ask("tasks/cancel", { taskId: made.taskId })
    assert.match(refused.error?.message ?? "", /insufficient_scope/)
    await owner.apiKeys.revoke({ key_id: key.id })
    const gone = await reader.ask("tasks/get", { taskId: made.taskId }).catch((error: unknown) => String(error))
    assert.match(JSON.stringify(gone), /unauthenticated/)
    await one.ask("tasks/cancel", { taskId: made.taskId })
    assert.strictEqual((await one.follow(made.taskId)).status, "cancelled")
  })

  it("asks an app for the scope that its request needs", () => {
    const turn = { tool: "wait", turn: "turn_1", after: 0, made: 0, forms: true, at: 1, until: null } as const
    const delivery = { tool: "deliver", delivery: "dlv_1", job: "job_1", request: true, at: 1 } as const
    const scopes = [
      ["tasks/get", taskIdOf(delivery), "read"],
      ["tasks/update", taskIdOf(turn), "write"],
      ["tasks/cancel", taskIdOf(turn), "act"],
      ["tasks/cancel", taskIdOf(delivery), "write"],
      ["tasks/cancel", "no task", "act"],
      ["tools/list", taskIdOf(turn), undefined]
    ] as const
    for (const [method, taskId, scope] of scopes) assert.strictEqual(scopeOfTask({ method, params: { taskId } }), scope)
  })

  it("names one task, and each task has one", () => {
    const number = fc.integer({ min: 0, max: 2 ** 40 })
    const id = (prefix: string) => fc.stringMatching(/^[0-9A-Za-z]{26}$/).map((rest) => `${prefix}_${rest}`)
    const ofTurn = fc.record({
      tool: fc.constantFrom("start_session" as const, "send_message" as const, "wait" as const),
      turn: id("turn"),
      after: number,
      made: number,
      forms: fc.boolean(),
      at: number,
      until: fc.option(number)
    })
    const ofDelivery = fc.record({
      tool: fc.constant("deliver" as const),
      delivery: id("dlv"),
      job: id("job"),
      request: fc.boolean(),
      at: number
    })
    fc.assert(
      fc.property(fc.oneof(ofTurn, ofDelivery), (task) => {
        assert.deepStrictEqual(taskOf(taskIdOf(task)), task)
        assert.isAtMost(taskIdOf(task).length, 300)
      })
    )
    const any = fc.oneof(
      fc.string(),
      fc.string().map((text) => `task_${Buffer.from(text).toString("base64url")}`)
    )
    fc.assert(
      fc.property(any, (text) => {
        const task = taskOf(text)
        assert.isTrue(task === undefined || taskIdOf(task) === text)
      })
    )
  })
})
