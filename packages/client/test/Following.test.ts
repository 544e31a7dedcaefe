import { assert, describe, it } from "@effect/vitest"
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
    const seen: Array<string> = []
    const answer = await reins.run({
      session_id: "sess_1",
      content: "What is 6 times 7?",
      onEvent: async (event) => void seen.push(event.type)
    })
    assert.strictEqual(answer.text, "4\n2")
    assert.strictEqual(answer.turn.state, "succeeded")
    assert.strictEqual(`${answer.message?.id}`, "msg_2")
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
    const {
      message,
      text,
      turn: ended
    } = await new Reins({ baseUrl: server.url }).run({ session_id: "sess_1", content: "x" })
    assert.deepStrictEqual([message, text, ended.state], [null, "", "failed"])
  })

  it("rejects with what the event handler throws, and closes the stream", async () => {
    let close = () => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    await using server = await serve((response, request, ordinal) => {
      if (request.method === "POST") return sent(response, request, ordinal)
      response.on("close", close)
      openStream(response)
      response.write(frame(5, "turn.started", { turn: turn("running") }))
    })
    const mine = new Error("mine")
    const onEvent = () => {
      throw mine
    }
    const error = await new Reins({ baseUrl: server.url })
      .run({ session_id: "s", content: "x", onEvent })
      .catch((error: unknown) => error)
    assert.strictEqual(error, mine)
    await closed
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
    await using server = await serve((response, request) => {
      if (!request.url.includes("/events")) {
        return json(response, 200, request.url.includes("/sessions/") ? { event_watermark: 9 } : turn("running"))
      }
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

  it("an error of the API ends the wait", async () => {
    await using server = await serve((response) => refuse(response, 404, "not_found"))
    const error = await new Reins({ baseUrl: server.url }).turns.wait({ turn_id: "t" }).catch((error: unknown) => error)
    assert.instanceOf(error, ReinsApiError)
  })
})
