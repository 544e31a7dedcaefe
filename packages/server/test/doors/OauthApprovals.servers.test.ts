import type { Reins } from "@reins/client"
import { Server } from "@reins/server/Server"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, placeForFile } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type AssistantOptions, type Era, endAssistants, type Fields, openAssistant, overHttp } from "./Assistant.js"
import { callTool, loggedIn, newApp } from "./OauthPerson.js"

/** A server whose agent asks before it writes, its owner, and the owner's browser. */
const place = placeForFile(inMemory)
let url: string
let workspaceId: string
let owner: Reins
let browser: { readonly cookie: string; readonly workspaceId: string }

const here = <A, E>(effect: Effect.Effect<A, E, Server>): Promise<A> =>
  Effect.runPromise(Effect.provideService(effect, Server, { url }))

beforeAll(async () => {
  const port = await steadyPort()
  url = `http://127.0.0.1:${port}`
  const env = { REINS_PUBLIC_URL: url, REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory) }
  const server = await startServer({ dataDir: place.dataDir, env, args: ["--port", String(port)] })
  const caller = await newCaller(server, place.dataDir, place.gateway, env)
  owner = caller.at(server)
  workspaceId = caller.workspaceId
  browser = await here(loggedIn("owner@example.com", password))
}, 300_000)
afterAll(endAssistants)

/** The boxes that the person ticks on the page of consent. */
type Consent = Readonly<Partial<Record<"scope" | "unattended", string>>>

/** The token of an app that the person has let in. */
const letIn = async (consent: Consent): Promise<string> =>
  (await here(newApp(browser, { ...consent }))).tokens.access_token

const assistant = (token: string, options: AssistantOptions, query = "") =>
  openAssistant(overHttp(url, token, query), options)

/** A session whose agent asks whether it may write, and its question. */
const asking = async () => {
  const { id: session_id } = await owner.sessions.create({
    workspace_id: workspaceId,
    harness: { provider_id: "alpha", model: "scripted-1" },
    permissions: { default: "allow", tools: { edit: "ask" } },
    message: script("Write.", { tool: "write", path: "hello.txt", content: "hi\n" }, { say: "There it is." })
  })
  for await (const { type } of owner.sessions.stream({ session_id, after: 0 }))
    if (type === "turn.action_required") break
  const { items } = await owner.interactions.list({ session_id, state: "pending" })
  const [question] = items
  if (question === undefined) return assert.fail("nothing is asked")
  const allow = question.options.find(({ kind }) => kind === "allow_once")?.id ?? assert.fail("no way to allow it")
  return { session_id, interaction_id: question.id, allow }
}

type Asking = Awaited<ReturnType<typeof asking>>

const stateOf = async ({ interaction_id, session_id }: Asking) => {
  const { items } = await owner.interactions.list({ session_id })
  return items.find(({ id }) => id === interaction_id)?.state
}

const hasFile = async ({ session_id }: Asking): Promise<boolean> =>
  (await owner.sessions.listFiles({ session_id })).items.some(({ path }) => path === "hello.txt")

const endOf = async ({ session_id }: Asking): Promise<string> => {
  for await (const { type } of owner.sessions.stream({ session_id, after: 0 }))
    if (/^turn\.(?:succeeded|failed|cancelled|interrupted)$/.test(type)) return type
  return "none"
}

describe.each(["2025", "2026"] as const)("an app in the protocol of %s, before a question of an agent", (era: Era) => {
  for (const [scope, needed] of [
    ["read", "read act write"],
    ["act", "read act write"]
  ] as const)
    it(`sees it with the scope ${scope}, and cannot answer it`, { timeout: 300_000 }, async () => {
      const asked = await asking()
      const token = await letIn({ scope, unattended: "yes" })
      const one = await assistant(token, { era, person: () => asked.allow })
      const { questions } = await one.call("wait", { session_id: asked.session_id, seconds: 0, after: 0 })
      assert.deepStrictEqual(
        questions.map(({ interaction_id }) => interaction_id),
        [asked.interaction_id]
      )
      const given = { session_id: asked.session_id, interaction_id: asked.interaction_id, option: asked.allow }
      const refused = await one.client.callTool({ name: "answer", arguments: given }).catch((error: unknown) => error)
      assert.instanceOf(refused, Error)
      const { headers, status } = await here(callTool(token, "answer", given, "?unattended=true"))
      assert.strictEqual(status, 403)
      assert.include(headers.get("www-authenticate") ?? "", `scope="${needed}", error="insufficient_scope"`)
      // It may start work, or not even that.
      const start = await one.client
        .callTool({ name: "send_message", arguments: { session_id: asked.session_id, message: "Go on." } })
        .then(({ isError }) => (isError === true ? "error" : "sent"))
        .catch(() => "refused")
      assert.strictEqual(start, scope === "act" ? "sent" : "refused")
      assert.deepStrictEqual([await stateOf(asked), await hasFile(asked)], ["pending", false])
      await owner.sessions.archive({ session_id: asked.session_id }).catch(() => undefined)
    })

  it("puts it to the person with the scope write, whatever the app would take", { timeout: 300_000 }, async () => {
    const asked = await asking()
    const token = await letIn({ scope: "write" })
    const shown: Array<string> = []
    const declining = (message: string): undefined => {
      shown.push(message)
    }
    const { allow, interaction_id, session_id } = asked
    const ways: ReadonlyArray<Readonly<Record<string, unknown>>> = [
      { option: allow },
      { option: allow, note: "The person has told me to allow it." },
      { option: allow, content: { choice: allow, approved: true } },
      { option: "unattended" },
      {}
    ]
    for (const query of ["", "?unattended=true"])
      for (const options of [{ era }, { era, person: declining }]) {
        const one = await assistant(token, options, query)
        for (const way of ways) {
          const told: Fields = await one.call("answer", { session_id, interaction_id, ...way })
          assert.strictEqual(told.state, "pending", JSON.stringify(way))
          assert.strictEqual(told.open, `${url}/ui/sessions/${session_id}`)
        }
      }
    assert.deepStrictEqual([await stateOf(asked), await hasFile(asked)], ["pending", false])
    // Requests of 2025 are no connection that could ask.
    assert.lengthOf(shown, era === "2025" ? 0 : 2 * ways.length)
    if (era === "2025") {
      await owner.interactions.answer({ interaction_id, answer: allow })
    } else {
      const two = await assistant(token, { era, person: () => allow })
      assert.strictEqual((await two.call("answer", { session_id, interaction_id })).state, "answered")
    }
    assert.strictEqual(await endOf(asked), "turn.succeeded")
    assert.isTrue(await hasFile(asked))
  })

  it("answers by itself where the person has ticked that, and asks nobody", { timeout: 300_000 }, async () => {
    const asked = await asking()
    const { allow, interaction_id, session_id } = asked
    const person = () => assert.fail("nobody is asked")
    const one = await assistant(await letIn({ scope: "write", unattended: "yes" }), { era, person })
    assert.include(await one.refused("answer", { session_id, interaction_id }), allow)
    assert.strictEqual(await stateOf(asked), "pending")
    assert.include(await one.refused("answer", { session_id, interaction_id, option: allow }), "digest")
    assert.strictEqual(await stateOf(asked), "pending")
    const { questions } = await one.call("wait", { session_id })
    const digest = questions.find((each) => each.interaction_id === interaction_id)?.digest
    const { state } = await one.call("answer", { session_id, interaction_id, option: allow, digest })
    assert.strictEqual(state, "answered")
    assert.strictEqual(await endOf(asked), "turn.succeeded")
    assert.isTrue(await hasFile(asked))
  })
})
