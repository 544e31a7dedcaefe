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

  it("speaks generateContent, with the model in the path and the key in its header or in the query", () =>
    withGateway({ apiKey: "right" }, async (gateway) => {
      const declared = { name: "bash", parametersJsonSchema: tool.parameters }
      const steps = [
        { role: "user", parts: [{ text: script("Do.", { tool: "bash", cmd: "ls" }, { say: "It is done." }) }] }
      ]
      const generate = (method: string, contents: ReadonlyArray<object>, headers: Readonly<Record<string, string>>) =>
        fetch(`${gateway.geminiUrl}/models/scripted-1:${method}`, {
          method: "POST",
          headers,
          body: JSON.stringify({ contents, tools: [{ functionDeclarations: [declared] }] })
        })
      const first = await generate("generateContent", steps, { "x-goog-api-key": "right" })
      const [part] = JSON.parse(await first.text()).candidates[0].content.parts
      assert.deepInclude(part.functionCall, { name: "bash", args: { command: "ls" } })
      const later = [
        ...steps,
        { role: "model", parts: [part] },
        { role: "user", parts: [{ functionResponse: { name: "bash", response: { output: "a" } } }] }
      ]
      const second = await (await generate("streamGenerateContent?alt=sse&key=right", later, {})).text()
      assert.include(second, '"text":"done."')
      assert.include(second, '"finishReason":"STOP"')
      assert.include(second, '"promptTokenCount":1000')
      assert.strictEqual((await generate("generateContent", steps, {})).status, 401)
      const listed = await fetch(`${gateway.geminiUrl}/models`, { headers: { "x-goog-api-key": "right" } })
      assert.strictEqual(JSON.parse(await listed.text()).models[0].name, "models/scripted-1")
      assert.deepStrictEqual(
        gateway.requests.map(({ authorized, model, stream }) => [authorized, model, stream]).slice(0, 3),
        [
          [true, "scripted-1", false],
          [true, "scripted-1", true],
          [false, "scripted-1", false]
        ]
      )
    }))

  it("fills in lists of files and commands, and writes with a tool that edits", () =>
    withGateway({}, async (gateway) => {
      const list = (key: string) => ({ properties: { [key]: { type: "array" } }, required: [key] })
      const offered = [
        { name: "run_commands", parameters: list("commands") },
        { name: "read_files", parameters: list("files") },
        { name: "editor", parameters: { properties: { path: {}, old_text: {}, new_text: {} }, required: ["path"] } }
      ].map((each) => ({ type: "function", function: each }))
      const argumentsOf = async (step: Step) => {
        const answer = JSON.parse(await (await chat(gateway, [user(step)], { tools: offered })).text())
        return JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments)
      }
      assert.deepStrictEqual(await argumentsOf({ tool: "bash", cmd: "ls" }), { commands: ["ls"] })
      assert.deepStrictEqual(await argumentsOf({ tool: "read", path: "/a" }), { files: [{ path: "/a" }] })
      assert.deepStrictEqual(await argumentsOf({ tool: "write", path: "/a", content: "b" }), {
        path: "/a",
        new_text: "b"
      })
      assert.deepStrictEqual(await argumentsOf({ tool: "edit", path: "/a", old: "b", new: "c" }), {
        path: "/a",
        old_text: "b",
        new_text: "c"
      })
    }))

  it("calls a tool of a server by the end of its name, and by its namespace where it has one", () =>
    withGateway({}, async (gateway) => {
      const offered = [{ type: "function", function: { name: "fruits_pear", parameters: {} } }]
      const plain = JSON.parse(await (await chat(gateway, [user({ tool: "pear" })], { tools: offered })).text())
      assert.strictEqual(plain.choices[0].message.tool_calls[0].function.name, "fruits_pear")
      const none = JSON.parse(await (await chat(gateway, [user({ tool: "ear" })], { tools: offered })).text())
      assert.include(none.choices[0].message.content, "No offered tool can ear")
      const answer = await fetch(`${gateway.url}/responses`, {
        method: "POST",
        headers: { authorization: "Bearer key" },
        body: JSON.stringify({
          model: "m",
          input: [user({ tool: "pear", args: {} })],
          tools: [{ type: "namespace", name: "fruits", tools: [{ name: "pear", parameters: {} }] }]
        })
      })
      const [call] = JSON.parse(await answer.text()).output
      assert.deepInclude(call, { type: "function_call", namespace: "fruits", name: "pear" })
    }))
})
