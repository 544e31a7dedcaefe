import { assert, describe, it } from "vitest"
import { type Gateway, type GatewayOptions, type Step, script, startGateway } from "../gateway.mjs"

const withGateway = async (options: GatewayOptions, use: (gateway: Gateway) => Promise<void>) => {
  const gateway = await startGateway(options)
  try {
    await use(gateway)
  } finally {
    await gateway.close()
  }
}

const tool = { name: "bash", parameters: { properties: { command: { type: "string" } }, required: ["command"] } }
const chat = (gateway: Gateway, messages: ReadonlyArray<object>, more: object = {}) =>
  fetch(`${gateway.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer key" },
    body: JSON.stringify({ model: "m", messages, tools: [{ type: "function", function: tool }], ...more })
  })

const user = (...steps: ReadonlyArray<Step>) => ({ role: "user", content: script("Do.", ...steps) })
const called = { role: "assistant", tool_calls: [{ function: { name: "bash", arguments: "{}" } }] }

describe("the scripted gateway", () => {
  it("takes the step that follows from the conversation", () =>
    withGateway({}, async (gateway) => {
      const steps = user({ tool: "bash", cmd: "echo [1]" }, { say: "a ] done" })
      const first = JSON.parse(await (await chat(gateway, [steps])).text())
      assert.strictEqual(first.choices[0].message.tool_calls[0].function.arguments, '{"command":"echo [1]"}')
      const second = JSON.parse(await (await chat(gateway, [steps, called, { role: "tool", content: "1" }])).text())
      assert.strictEqual(second.choices[0].message.content, "a ] done")
      assert.deepStrictEqual(
        gateway.requests.map((request) => request.messages.length),
        [1, 4]
      )
    }))

  it("follows a plan when the prompt has no script", () =>
    withGateway(
      { plan: (messages) => (messages.some(({ text }) => text === "fix it") ? [{ say: "fixed" }] : null) },
      async (gateway) => {
        assert.include(await (await chat(gateway, [{ role: "user", content: "fix it" }])).text(), "fixed")
        assert.include(await (await chat(gateway, [{ role: "user", content: "other" }])).text(), "follows a script")
      }
    ))

  it("refuses another key, and answers the errors of the script", () =>
    withGateway({ apiKey: "right" }, async (gateway) => {
      assert.strictEqual((await chat(gateway, [user({ say: "x" })])).status, 401)
      assert.strictEqual((await fetch(`${gateway.url}/models`, { headers: { "x-api-key": "right" } })).status, 200)
      assert.deepStrictEqual(
        gateway.requests.map((request) => request.authorized),
        [false, true]
      )
    }))

  it("answers an error with its status, and drops a stream in the middle", () =>
    withGateway({}, async (gateway) => {
      assert.strictEqual((await chat(gateway, [user({ error: 429 })])).status, 429)
      const dropped = await chat(gateway, [user({ drop: true })], { stream: true })
      let failed = false
      await dropped.text().catch(() => {
        failed = true
      })
      assert.isTrue(failed)
    }))
})
