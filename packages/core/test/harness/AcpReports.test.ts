import { createRequire } from "node:module"
import { assert, layer } from "@effect/vitest"
import type { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import {
  connection,
  of,
  place,
  runTurn,
  said,
  scriptedManifest,
  services,
  turnInput
} from "@reins/testing/harness/Turns"
import Ajv from "ajv/dist/2020.js"
import { Effect, Option, Redacted } from "effect"

const script = (...steps: ReadonlyArray<object>) => JSON.stringify(steps)

interface About {
  readonly capabilities?: object
  readonly session?: object
  readonly updates?: ReadonlyArray<object>
}

/** A turn of the scripted agent, with what it tells of itself and every line that it was sent. */
const turn = Effect.fnUntraced(function* (
  steps: ReadonlyArray<object>,
  about: About = {},
  settings: Readonly<Record<string, unknown>> = {},
  changes: Partial<TurnInput> = {}
) {
  const sent: Array<{ readonly method?: string; readonly params?: unknown; readonly result?: unknown }> = []
  const where = yield* place
  const input = turnInput(where, script(...steps), {
    manifest: scriptedManifest(settings, { ABOUT: JSON.stringify(about) }),
    onLine: (direction, line) => Effect.sync(() => void (direction === "out" && sent.push(JSON.parse(line)))),
    ...changes
  })
  const events = yield* runTurn(input)
  const paramsOf = (method: string) => sent.filter((message) => message.method === method).map(({ params }) => params)
  return { events, paramsOf }
})

const update = (sessionUpdate: string, more: object) => ({ update: { sessionUpdate, ...more } })
const without = <Event extends HarnessEvent>({ _tag, ...rest }: Event) => rest
const pixel = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }

/** The protocol as its own package describes it. */
const protocol: object = createRequire(import.meta.url)("@agentclientprotocol/sdk/schema/v1/schema.unstable.json")
const oracle = new Ajv.Ajv2020({ strict: false, validateFormats: false, logger: false })
oracle.addSchema(protocol, "acp")
const allowed = (type: string, value: unknown) => {
  const validate = oracle.getSchema(`acp#/$defs/${type}`) ?? assert.fail(`the protocol has no ${type}`)
  assert.isTrue(validate(value), `${type}: ${JSON.stringify(value)}: ${oracle.errorsText(validate.errors)}`)
}

const reports = [
  update("plan", { entries: [{ content: "Look", priority: "high", status: "in_progress" }] }),
  update("plan_update", { plan: { type: "markdown", planId: "p1", content: "# Then" } }),
  update("plan_removed", { planId: "p1" }),
  update("notice", { severity: "warning", title: "The model is old", description: "Choose another one." }),
  update("compaction_update", { compactionId: "c1", status: "in_progress" }),
  update("compaction_summary_chunk", { compactionId: "c1", content: { type: "text", text: "So far" } }),
  update("compaction_update", { compactionId: "c1", status: "completed" }),
  update("available_commands_update", {
    availableCommands: [{ name: "review", description: "Looks again", input: { hint: "what" } }]
  }),
  update("session_info_update", { title: "A sum" }),
  update("agent_message_chunk", { content: pixel })
]

layer(services, { excludeTestServices: true })("what an agent reports", (it) => {
  it.scoped("is told as what it is, and holds nothing but its kind", () =>
    Effect.gen(function* () {
      for (const report of reports) allowed("SessionNotification", { sessionId: "s1", ...report })
      const { events } = yield* turn([...reports, { say: "done" }])
      assert.deepStrictEqual(of(events, "diagnostic"), [])
      const none = { plan_id: null, text: null, uri: null, removed: false, entries: [] }
      assert.deepStrictEqual(of(events, "plan").map(without), [
        { ...none, entries: [{ content: "Look", priority: "high", status: "in_progress" }] },
        { ...none, plan_id: "p1", text: "# Then" },
        { ...none, plan_id: "p1", removed: true }
      ])
      assert.deepStrictEqual(of(events, "notice").map(without), [
        { severity: "warning", title: "The model is old", description: "Choose another one." }
      ])
      assert.deepStrictEqual(
        of(events, "compaction").map(({ state, summary }) => [state, summary]),
        [
          ["running", null],
          ["running", "So far"],
          ["done", "So far"]
        ]
      )
      assert.deepStrictEqual(of(events, "commands")[0]?.commands, [
        { name: "review", description: "Looks again", hint: "what" }
      ])
      assert.strictEqual(of(events, "title")[0]?.title, "A sum")
      assert.deepInclude(of(events, "media")[0]?.media, { kind: "image", media_type: "image/png", data: pixel.data })
    })
  )

  it.scoped("before a turn is told when the turn begins, and a replay is not", () =>
    Effect.gen(function* () {
      const about = {
        updates: [
          { sessionUpdate: "available_commands_update", availableCommands: [{ name: "init", description: "Begins" }] },
          { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "an old answer" } }
        ],
        session: { modes: { currentModeId: "code", availableModes: [{ id: "code", name: "Code" }] } }
      }
      const { events } = yield* turn([{ say: "new" }], about)
      assert.strictEqual(said(events), "new")
      assert.strictEqual(of(events, "commands")[0]?.commands[0]?.name, "init")
      assert.deepStrictEqual(of(events, "options")[0]?.options, [
        {
          id: "mode",
          name: "Mode",
          description: null,
          category: "mode",
          value: "code",
          choices: [{ value: "code", name: "Code", description: null }]
        }
      ])
    })
  )

  it.scoped("of a tool has its places, its images and its files beside its words", () =>
    Effect.gen(function* () {
      const call = {
        toolCallId: "t1",
        title: "Look",
        kind: "read",
        status: "completed",
        locations: [{ path: "/a.ts", line: 3 }, { path: "/b.ts" }],
        content: [
          { type: "content", content: pixel },
          { type: "content", content: { type: "resource_link", uri: "file:///a.ts", name: "a.ts" } },
          { type: "content", content: { type: "text", text: "seen" } }
        ]
      }
      const { events } = yield* turn([update("tool_call", call)])
      const [tool] = of(events, "tool")
      assert.deepStrictEqual(tool?.locations, [
        { path: "/a.ts", line: 3 },
        { path: "/b.ts", line: null }
      ])
      assert.deepStrictEqual(
        tool?.media.map(({ kind, name }) => [kind, name]),
        [
          ["image", null],
          ["resource", "a.ts"]
        ]
      )
      assert.strictEqual(tool?.output_text, "seen")
    })
  )

  it.scoped("as an error is told with the words of its data, wherever they are", () =>
    Effect.gen(function* () {
      for (const data of ["The disk is full", { message: "The disk is full" }, { details: "The disk is full" }]) {
        const failure = yield* Effect.flip(turn([{ fail: "x", data }]))
        assert.include(failure.message, "Internal error: The disk is full")
      }
    })
  )

  it.scoped("of the relay's address is told as that of the gateway, also where it comes in pieces", () =>
    Effect.gen(function* () {
      const relay = "http://127.0.0.1:40123"
      const told = {
        [`${relay}/5a17/v1`]: "https://gateway.example/v1",
        [relay]: "https://gateway.example",
        "127.0.0.1:40123": "gateway.example"
      }
      const lent = { ...connection({ base_url: `${relay}/5a17/v1` }, "sk-canary-told"), told }
      const steps = [
        { words: [`See http://127.0`, `.0.1:401`, `23/5a17/v1/models`, " now."] },
        { say: `ECONNREFUSED 127.0.0.1:40123` }
      ]
      const { events } = yield* turn(steps, {}, {}, { connection: lent })
      assert.include(said(events), "See https://gateway.example/v1/models now.")
      assert.include(said(events), "ECONNREFUSED gateway.example")
      const failure = yield* Effect.flip(turn([{ fail: `${relay}/5a17/v1/chat: 500` }], {}, {}, { connection: lent }))
      assert.include(failure.message, "https://gateway.example/v1/chat")
      assert.notInclude(failure.message, "127.0.0.1")
    })
  )

  it.scoped("as words that match the pattern of its errors is a failure", () =>
    Effect.gen(function* () {
      const settings = { error_as_text: { pattern: "^Error: (.*)$" } }
      const failure = yield* Effect.flip(turn([{ say: "Error: 401 unauthorized" }], {}, settings))
      assert.deepInclude(failure, { reason: "credential_invalid" })
      assert.include(failure.message, "401 unauthorized")
      const { events } = yield* turn([{ say: "I saw Error: in the log." }], {}, settings)
      assert.strictEqual(of(events, "ended")[0]?.stop_reason, "completed")
    })
  )
})

const select = (id: string, category: string, ...values: ReadonlyArray<string>) => ({
  id,
  name: id,
  category,
  type: "select",
  currentValue: values[0],
  options: values.map((value) => ({ value, name: value }))
})

layer(services, { excludeTestServices: true })("what an agent is told", (it) => {
  it.scoped("is what the protocol allows", () =>
    Effect.gen(function* () {
      const about = { session: { configOptions: [select("effort", "thought_level", "low", "high")] } }
      const { paramsOf } = yield* turn([{ say: "hello" }], about, {}, { options: { thought_level: "high" } })
      for (const [method, type] of [
        ["initialize", "InitializeRequest"],
        ["session/new", "NewSessionRequest"],
        ["session/set_config_option", "SetSessionConfigOptionRequest"],
        ["session/prompt", "PromptRequest"]
      ] as const) {
        const [params] = paramsOf(method)
        allowed(type, params)
      }
    })
  )

  it.scoped(
    "are the options that are chosen, by their id or category, and one that it does not have fails the turn",
    () =>
      Effect.gen(function* () {
        const about = {
          session: {
            configOptions: [
              select("provider", "model", "one", "two"),
              select("model", "model", "small", "large"),
              select("effort", "thought_level", "low", "high"),
              { id: "search", name: "Search", type: "boolean", currentValue: false }
            ],
            modes: {
              currentModeId: "code",
              availableModes: [
                { id: "code", name: "Code" },
                { id: "plan", name: "Plan" }
              ]
            }
          }
        }
        const options = { thought_level: "high", search: true, mode: "plan" }
        const settings = { model_selector: { config_option: "model" }, model_value: "{{model}}" }
        const { events, paramsOf } = yield* turn([{ say: "hello" }], about, settings, { options, model: "large" })
        const session = { sessionId: "s1" }
        assert.deepStrictEqual(paramsOf("session/set_config_option"), [
          { ...session, configId: "model", value: "large" },
          { ...session, configId: "effort", value: "high" },
          { ...session, configId: "search", type: "boolean", value: true }
        ])
        assert.deepStrictEqual(paramsOf("session/set_mode"), [{ ...session, modeId: "plan" }])
        assert.deepStrictEqual(
          of(events, "options")[0]?.options.map(({ id, value }) => [id, value]),
          [
            ["provider", "one"],
            ["model", "large"],
            ["effort", "high"],
            ["search", true],
            ["mode", "plan"]
          ]
        )
        for (const options of [{ colour: "red" }, { effort: "endless" }]) {
          const failure = yield* Effect.flip(turn([{ say: "hello" }], about, {}, { options }))
          assert.include(failure.message, Object.keys(options).join())
        }
      })
  )

  it.scoped("is the content of images and small texts where it offers to take them, and a link otherwise", () =>
    Effect.gen(function* () {
      const about = { capabilities: { promptCapabilities: { image: true, embeddedContext: true } } }
      const file = (name: string, mediaType: string, content: string) => ({
        type: "file" as const,
        path: `/w/${name}`,
        name,
        mediaType,
        size: content.length,
        read: () => Effect.succeed(Option.some(Buffer.from(content)))
      })
      const prompt = [
        { type: "text" as const, text: script({ say: "hello" }) },
        file("a.png", "image/png", "PNG"),
        file("a.txt", "text/plain", "words"),
        file("a.zip", "application/zip", "PK\u0003\u0004\u00ff".repeat(10_000))
      ]
      const typesWith = Effect.fnUntraced(function* (about: About, attachments: string) {
        const { paramsOf } = yield* turn([], about, { attachments }, { prompt })
        const [params] = paramsOf("session/prompt")
        allowed("PromptRequest", params)
        const sent = JSON.parse(JSON.stringify(params)).prompt
        return sent.map(({ type }: { readonly type: string }) => type)
      })
      const links = ["text", "resource_link", "resource_link", "resource_link"]
      assert.deepStrictEqual(yield* typesWith(about, "offered"), [
        "text",
        "resource_link",
        "image",
        "resource",
        "resource_link"
      ])
      assert.deepStrictEqual(yield* typesWith({}, "offered"), links)
      assert.deepStrictEqual(yield* typesWith(about, "links"), links)
      assert.deepStrictEqual(yield* typesWith(about, "words"), ["text", "text", "text", "text"])
    })
  )

  it.scoped("is servers of tools where it says that it speaks to them over HTTP, and no line shows their tokens", () =>
    Effect.gen(function* () {
      const token = Redacted.make("token-of-the-tools-1234")
      const toolServers = [{ name: "tools", url: "http://127.0.0.1:9/mcp", token }]
      const serversWith = Effect.fnUntraced(function* (capabilities: object) {
        const { paramsOf } = yield* turn([{ say: "hello" }], { capabilities }, {}, { toolServers })
        const [params] = paramsOf("session/new")
        allowed("NewSessionRequest", params)
        assert.notInclude(JSON.stringify(params), Redacted.value(token))
        return JSON.parse(JSON.stringify(params)).mcpServers
      })
      const [told, ...others] = yield* serversWith({ mcpCapabilities: { http: true } })
      assert.deepStrictEqual(others, [])
      assert.deepInclude(told, { type: "http", name: "tools", url: "http://127.0.0.1:9/mcp" })
      assert.deepStrictEqual(
        told.headers.map(({ name }: { readonly name: string }) => name),
        ["Authorization"]
      )
      assert.deepStrictEqual(yield* serversWith({ mcpCapabilities: { http: false } }), [])
    })
  )

  it.scoped("are further directories where it takes them", () =>
    Effect.gen(function* () {
      const about = { capabilities: { sessionCapabilities: { additionalDirectories: {} } } }
      const directoriesOf = Effect.fnUntraced(function* (about: About, shared: ReadonlyArray<string>) {
        const { paramsOf } = yield* turn([{ say: "hello" }], about, {}, { additionalDirectories: shared })
        const [params] = paramsOf("session/new")
        allowed("NewSessionRequest", params)
        return JSON.parse(JSON.stringify(params)).additionalDirectories
      })
      assert.deepStrictEqual(yield* directoriesOf(about, ["/srv/guides", "/srv/other"]), ["/srv/guides", "/srv/other"])
      assert.isUndefined(yield* directoriesOf(about, []))
      assert.isUndefined(yield* directoriesOf({}, ["/srv/guides"]))
    })
  )
})
