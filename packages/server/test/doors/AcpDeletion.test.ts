import { methods, RequestError } from "@agentclientprotocol/sdk"
import { endless } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { worldForFile } from "../cli/Cli.js"
import { type FarEditor, farEditor, textOf, ways } from "./FarEditor.js"

const world = worldForFile({ acp: true })

const { session } = methods.agent

type Arguments = Parameters<typeof farEditor> extends [unknown, ...infer Rest] ? Rest : never

/** An editor with a key of its own, because a key has few connections. */
const editor = async (...more: Arguments): Promise<FarEditor> => {
  const { client, url } = world()
  const { secret } = await client.apiKeys.create({ name: "editor", scopes: ["read", "write"] })
  return farEditor(ways.WebSocket({ url, apiKey: secret }), ...more)
}

const choosing =
  (optionId: string): Arguments[0] =>
  () => ({ outcome: { outcome: "selected", optionId } })

const begun = async ({ agent }: FarEditor): Promise<string> => {
  const { sessionId } = await agent.request(session.new, { cwd: "/", mcpServers: [] })
  await agent.request(session.prompt, { sessionId, prompt: textOf(script("Say.", { say: "Here." })) })
  return sessionId
}

/** Asks for the deletion. Gives the error, or undefined when it was done. */
const remove = ({ agent }: FarEditor, sessionId: string) =>
  agent.request(session.delete, { sessionId }).then(
    () => undefined,
    (error: unknown) => (error instanceof RequestError ? error : assert.fail(String(error)))
  )

const isThere = (session_id: string): Promise<boolean> =>
  world()
    .client.sessions.get({ session_id })
    .then(
      () => true,
      () => false
    )

const listed = async ({ agent }: FarEditor): Promise<ReadonlyArray<string>> =>
  (await agent.request(session.list, {})).sessions.map(({ sessionId }) => sessionId)

describe("a session that an editor deletes", () => {
  it("goes for good when its person has confirmed it, and is in no list any more", async () => {
    const one = await editor(choosing("delete"))
    const sessionId = await begun(one)
    assert.include(await listed(one), sessionId)
    assert.isUndefined(await remove(one, sessionId))
    const [asked] = one.asked
    assert.deepInclude(asked, { sessionId })
    assert.include(JSON.stringify(asked), "for good")
    assert.isFalse(await isThere(sessionId))
    assert.notInclude(await listed(one), sessionId)
    const receipt = await world().client.sessions.getDeletion({ session_id: sessionId })
    assert.strictEqual(receipt.session_id, sessionId)
    // It is not open here any more, and to delete it once more succeeds without a question.
    const prompt = one.agent.request(session.prompt, { sessionId, prompt: textOf("Go on.") })
    assert.strictEqual(await prompt.catch(({ code }) => code), -32_002)
    assert.isUndefined(await remove(one, sessionId))
    assert.isUndefined(await remove(one, "sess_00000000000000000000000000"))
    assert.lengthOf(one.asked, 1)
    one.close()
  })

  it("stays when the person declines, and when the editor cannot ask", async () => {
    const declines = await editor(choosing("keep"))
    const sessionId = await begun(declines)
    const cancels = await editor(() => ({ outcome: { outcome: "cancelled" } }))
    const invents = await editor(choosing("yes"))
    for (const one of [declines, cancels, invents]) {
      const refused = await remove(one, sessionId)
      assert.deepInclude(refused?.data, { reason: "declined" })
      assert.match(refused?.message ?? "", /not deleted/)
    }
    const unable = await editor(() => {
      throw RequestError.methodNotFound("session/request_permission")
    })
    const refused = await remove(unable, sessionId)
    assert.deepInclude(refused?.data, { reason: "not_asked" })
    assert.match(refused?.message ?? "", /cannot ask/)
    assert.isTrue(await isThere(sessionId))
    for (const one of [declines, cancels, invents, unable]) one.close()
  })

  it("is asked about in a form where the editor has forms, for one that is not open, too", async () => {
    const forms = { elicitation: { form: {} } }
    const messages: Array<string> = []
    const form =
      (choice: string): Arguments[2] =>
      (asked) => {
        messages.push(asked.message)
        // The form belongs to the request, as the session may be unknown to the editor.
        assert.property(asked, "requestId")
        return { action: "accept", content: { choice } }
      }
    const owner = await editor()
    const sessionId = await begun(owner)
    await world().client.sessions.update({ session_id: sessionId, title: "A \u202ename" })
    const keeps = await editor(undefined, forms, form("keep"))
    assert.deepInclude((await remove(keeps, sessionId))?.data, { reason: "declined" })
    assert.isTrue(await isThere(sessionId))
    const deletes = await editor(undefined, forms, form("delete"))
    assert.isUndefined(await remove(deletes, sessionId))
    assert.isFalse(await isThere(sessionId))
    assert.include(messages[0], "Delete the session")
    assert.notInclude(messages[0], "\u202e")
    for (const one of [owner, keeps, deletes]) one.close()
  })

  it("stays while a turn of it works, and nobody is asked", async () => {
    const one = await editor(choosing("delete"))
    const { sessionId } = await one.agent.request(session.new, { cwd: "/", mcpServers: [] })
    const prompt = one.agent.request(session.prompt, { sessionId, prompt: textOf(endless()) })
    await eventually("a turn", async () => {
      const { activity } = await world().client.sessions.get({ session_id: sessionId })
      return activity === "running"
    })
    const refused = await remove(one, sessionId)
    assert.deepInclude(refused?.data, { reason: "turn_active" })
    assert.lengthOf(one.asked, 0)
    await one.agent.notify(session.cancel, { sessionId })
    assert.strictEqual((await prompt).stopReason, "cancelled")
    assert.isUndefined(await remove(one, sessionId))
    assert.isFalse(await isThere(sessionId))
    one.close()
  })

  it("stays for a key that may only look", async () => {
    const { client, url } = world()
    const owner = await editor()
    const sessionId = await begun(owner)
    const key = await client.apiKeys.create({ name: "looks", scopes: ["read"] })
    const reader = await farEditor(ways.WebSocket({ url, apiKey: key.secret }), choosing("delete"))
    assert.deepInclude((await remove(reader, sessionId))?.data, { reason: "not_allowed" })
    assert.lengthOf(reader.asked, 0)
    assert.isTrue(await isThere(sessionId))
    for (const one of [owner, reader]) one.close()
  })
})
