import { assert, describe, it } from "@effect/vitest"
import { jobStates } from "@reins/core/jobs/Job"
import { mergeRequestStates } from "@reins/core/requests/rows/MergeRequest"
import { turnStates } from "@reins/core/sessions/rows/Turn"
import { jobEnds, mergeRequestEnds, turnEnds } from "../src/Following.js"
import { Reins, ReinsApiError } from "../src/index.js"
import { type Answer, frame, json, openStream, refuse, serve } from "./ScriptedServer.js"

const turn = (state: string, messageId: string | null = null) => ({
  id: "turn_1",
  session_id: "sess_1",
  state,
  outcome: messageId === null ? null : { message_id: messageId, stop_reason: "completed" }
})
const sent: Answer = (response) =>
  json(response, 202, { message: { id: "msg_1" }, turn_id: "turn_1", event_watermark: 4 })
const said = (id: string, ...texts: Array<string>) => ({
  message: { id, content: texts.map((text) => ({ type: "text", text })) }
})

describe("run", () => {
  it("sends the message, shows the events, survives breaks and gives back the agent's answer", async () => {
    await using server = await serve((response, request, ordinal) => {
      if (request.method === "POST") return sent(response, request, ordinal)
      if (ordinal === 2)
        return refuse(response, 503, "shutting_down", { retryable: true, headers: { "retry-after": "0" } })
      openStream(response)
      if (ordinal === 1) response.end(frame(5, "turn.started", { turn: turn("running") }))
      else {
        response.write(frame(6, "message.completed", said("msg_2", "4", "2")))
        response.write(frame(7, "turn.succeeded", { turn: turn("succeeded", "msg_2") }))
      }
    })
    const reins = new Reins({ baseUrl: server.url })
    const run = reins.run({ session_id: "sess_1", content: "What is 6 times 7?" })
    const seen: Array<string> = []
    for await (const event of run) seen.push(event.type)
    const answer = await run.final()
    assert.strictEqual(answer.text, "4\n2")
    assert.strictEqual(await run.text(), "4\n2")
    assert.strictEqual(answer.turn.state, "succeeded")
    assert.strictEqual(`${answer.message?.id}`, "msg_2")
    assert.strictEqual((await run.sent()).turn_id, "turn_1")
    // The loop does not ask again for events that it has seen.
    assert.strictEqual(server.received.length, 4)
    assert.deepStrictEqual(seen, ["turn.started", "message.completed", "turn.succeeded"])
    assert.strictEqual(server.received[0]?.body, `{"content":"What is 6 times 7?"}`)
    assert.include(server.received[1]?.url, "after=4")
    assert.include(server.received[1]?.url, "turn_id=turn_1")
  })

  it("gives back a turn that failed, without a message", async () => {
    await using server = await serve((response, request, ordinal) => {
      if (request.method === "POST") return sent(response, request, ordinal)
      openStream(response)
      response.write(frame(5, "turn.failed", { turn: turn("failed") }))
    })
    const run = new Reins({ baseUrl: server.url }).run({ session_id: "sess_1", content: "x" })
    const { message, text, turn: ended } = await run.final()
    assert.deepStrictEqual([message, text, ended.state], [null, "", "failed"])
    await run.final()
    assert.strictEqual(server.received.length, 2)
  })

  it("a loop that is left closes its stream, and the end can still be waited for", async () => {
    let close = () => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    await using server = await serve((response, request, ordinal) => {
      if (request.method === "POST") return sent(response, request, ordinal)
      openStream(response)
      response.write(frame(5, "turn.started", { turn: turn("running") }))
      if (ordinal === 1) response.on("close", close)
      else response.write(frame(6, "turn.succeeded", { turn: turn("succeeded") }))
    })
    const run = new Reins({ baseUrl: server.url }).run({ session_id: "s", content: "x" })
    for await (const event of run) if (event.type === "turn.started") break
    await closed
    assert.strictEqual((await run.final()).turn.state, "succeeded")
    assert.strictEqual(server.received.filter(({ method }) => method === "POST").length, 1)
  })

  it("a message that is refused rejects wherever it is waited for, and nowhere else", async () => {
    await using server = await serve((response) => refuse(response, 409, "model_required"))
    const run = new Reins({ baseUrl: server.url }).run({ session_id: "s", content: "x" })
    const refusals = [run.sent(), run.final(), run.text(), run[Symbol.asyncIterator]().next()]
    for (const refusal of await Promise.allSettled(refusals)) {
      assert.strictEqual(refusal.status, "rejected")
      assert.instanceOf(refusal.status === "rejected" && refusal.reason, ReinsApiError)
    }
    assert.strictEqual(server.received.length, 1)
  })

  it("an aborted signal ends the waiting with its reason", async () => {
    await using server = await serve((response, request, ordinal) =>
      request.method === "POST" ? sent(response, request, ordinal) : openStream(response)
    )
    const controller = new AbortController()
    const reins = new Reins({ baseUrl: server.url })
    const waiting = reins.run({ session_id: "s", content: "x" }, { signal: controller.signal }).final()
    await server.count(2)
    controller.abort("enough")
    assert.strictEqual(await waiting.catch((reason: unknown) => reason), "enough")
  })
})

describe("wait", () => {
  it("a turn that has ended is given back at once", async () => {
    await using server = await serve((response) => json(response, 200, turn("cancelled")))
    assert.strictEqual((await new Reins({ baseUrl: server.url }).turns.wait({ turn_id: "turn_1" })).state, "cancelled")
    assert.strictEqual(server.received.length, 1)
  })

  it("a turn that ends between the reads is not missed", async () => {
    await using server = await serve((response, request, ordinal) =>
      json(
        response,
        200,
        request.url.includes("/sessions/") ? { event_watermark: 9 } : turn(ordinal === 0 ? "running" : "failed")
      )
    )
    assert.strictEqual((await new Reins({ baseUrl: server.url }).turns.wait({ turn_id: "turn_1" })).state, "failed")
  })

  it("a running turn is followed by its events", async () => {
    let state: "running" | "interrupted" = "running"
    await using server = await serve((response, request) => {
      if (!request.url.includes("/events")) {
        return json(response, 200, request.url.includes("/sessions/") ? { event_watermark: 9 } : turn(state))
      }
      state = "interrupted"
      openStream(response)
      response.write(frame(10, "turn.interrupted", { turn: turn("interrupted") }))
    })
    assert.strictEqual(
      (await new Reins({ baseUrl: server.url }).turns.wait({ turn_id: "turn_1" })).state,
      "interrupted"
    )
    assert.include(server.received[3]?.url, "after=9")
  })

  it("a job is read until it has ended", async () => {
    await using server = await serve((response, _, ordinal) =>
      json(response, 200, { id: "job_1", state: ordinal < 2 ? "running" : "succeeded" })
    )
    const { state } = await new Reins({ baseUrl: server.url }).jobs.wait({ job_id: "job_1" })
    assert.strictEqual(state, "succeeded")
    assert.strictEqual(server.received.length, 3)
  })

  it("a merge request is waited for through breaks until it ends, whichever way", async () => {
    const request = (state: string) => ({ id: "mr_1", session_id: "sess_1", delivery_id: "dlv_1", state })
    const payload = (merge_request_id: string) => ({ merge_request_id })
    let state = "open"
    let streams = 0
    await using server = await serve((response, { url }) => {
      if (!url.includes("/events"))
        return json(response, 200, url.includes("/sessions/") ? { event_watermark: 9 } : request(state))
      streams += 1
      if (streams === 1) {
        openStream(response)
        // Another merge request of the session ends, and the connection breaks.
        return void response.end(frame(10, "merge_request.merged", payload("mr_other")))
      }
      if (streams === 2)
        return refuse(response, 503, "shutting_down", { retryable: true, headers: { "retry-after": "0" } })
      state = "closed"
      openStream(response)
      response.write(frame(11, "merge_request.closed", payload("mr_1")))
    })
    const reins = new Reins({ baseUrl: server.url })
    assert.strictEqual((await reins.mergeRequests.wait({ merge_request_id: "mr_1" })).state, "closed")
    assert.strictEqual(streams, 3)
    const [first, , third] = server.received.filter(({ url }) => url.includes("/events")).map(({ url }) => url)
    assert.include(first, "after=9")
    assert.include(third, "after=10")
    // One that has ended is given back at once, from whatever a call gave.
    const before = server.received.length
    assert.strictEqual((await reins.mergeRequests.wait(request("open"))).state, "closed")
    assert.strictEqual((await reins.mergeRequests.wait({ merge_request: { id: "mr_1" } })).state, "closed")
    assert.strictEqual(server.received.length, before + 2)
  })

  it("takes what a call gave back", async () => {
    const ended = { ...turn("succeeded"), ordinal: 1, message_id: "msg_1" } as const
    const job = { id: "job_1", operation_id: "op_1", state: "succeeded" } as const
    await using server = await serve((response, { url }) => json(response, 200, url.includes("/jobs/") ? job : ended))
    const reins = new Reins({ baseUrl: server.url })
    const operation = { id: "op_1", job_id: "job_1", state: "queued" } as const
    await reins.turns.wait(ended)
    // A session that was created with a message, and a message that was sent.
    const created = { id: "sess_1", turn_id: "turn_1" }
    await reins.turns.wait(created)
    await reins.jobs.wait(job)
    await reins.jobs.wait(operation)
    const answer = { operation, event_watermark: 1 }
    await reins.jobs.wait(answer)
    const paths = server.received.map(({ url }) => url)
    const [turnPath, jobPath] = ["/api/turns/turn_1", "/api/jobs/job_1"]
    assert.deepStrictEqual(paths, [turnPath, turnPath, jobPath, jobPath, jobPath])
    // A note starts no turn.
    for (const waiting of [reins.turns.wait({ turn_id: undefined }), reins.jobs.wait({ operation: undefined })])
      assert.instanceOf(await waiting.catch((error: unknown) => error), TypeError)
  })

  it("knows the states that turns, jobs and merge requests end in", () => {
    const ends = <S extends string>({
      states,
      isTerminal
    }: {
      states: ReadonlyArray<S>
      isTerminal: (state: S) => boolean
    }) => states.filter(isTerminal)
    assert.sameMembers([...turnEnds], ends(turnStates))
    assert.sameMembers([...jobEnds], ends(jobStates))
    assert.sameMembers([...mergeRequestEnds], ends(mergeRequestStates))
  })

  it("an error of the API ends the wait", async () => {
    await using server = await serve((response) => refuse(response, 404, "not_found"))
    const error = await new Reins({ baseUrl: server.url }).turns.wait({ turn_id: "t" }).catch((error: unknown) => error)
    assert.instanceOf(error, ReinsApiError)
  })
})
