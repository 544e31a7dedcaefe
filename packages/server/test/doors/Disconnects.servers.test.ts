import { once } from "node:events"
import { setImmediate, setTimeout } from "node:timers/promises"
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk"
import { eventually } from "@reins/testing/process/Waiting"
import { cuts } from "@reins/testing/Volume"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, it } from "vitest"
import { worldForFile } from "../cli/Cli.js"
import { type Editor, endEditors, initialize, openEditor, toolsOf, wordsOf } from "./Editor.js"

const world = worldForFile()
afterAll(endEditors)

const { session } = methods.agent

/** The editors that one turn loses. */
const cutsOfTurn = 3

/** A turn that says many words, and runs a tool between them. */
const told = (turn: number) => {
  const words = (part: string) => Array.from({ length: 60 }, (_, index) => `${part}${turn}-${index}`).join(" ")
  return script(
    `Tell ${turn}.`,
    { say: words("first"), slow_ms: 15, tool: "bash", cmd: `echo ${turn}` },
    { say: words("then"), slow_ms: 15 }
  )
}

const opened = async (sessionId: string): Promise<Editor> => {
  const { at } = world()
  const editor = await openEditor(at)
  await initialize(editor)
  await editor.agent.request(session.load, { sessionId, cwd: at.cwd, mcpServers: [] })
  await setImmediate()
  return editor
}

/** Takes an editor away: as a window that is closed, or as one that crashes with its door. */
const cut = async ({ child, close }: Editor, isCrash: boolean): Promise<void> => {
  if (!isCrash) return void (await close())
  const ended = once(child, "exit")
  child.kill("SIGKILL")
  await ended
}

/** The words of each message of the agent, as the log has them. */
const loggedWords = async (session_id: string): Promise<Readonly<Record<string, string>>> => {
  const { items } = await world().client.messages.list({ session_id, limit: 200 })
  return Object.fromEntries(
    items.flatMap(({ id, parts, role }) => {
      const words = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("")
      return role === "assistant" && words !== "" ? [[id, words]] : []
    })
  )
}

const sentIn = (updates: ReadonlyArray<SessionUpdate>): ReadonlyArray<string> =>
  updates.flatMap((update) => (update.sessionUpdate === "user_message_chunk" ? [update.messageId ?? ""] : []))

it(
  `${cuts} editors that are lost in the middle of turns miss no word, and get none twice`,
  async () => {
    const { at, client } = world()
    const seen: Array<Readonly<Record<string, string>>> = []
    const first = await openEditor(at)
    await initialize(first)
    const { sessionId } = await first.agent.request(session.new, { cwd: at.cwd, mcpServers: [] })
    let editor = first
    for (let done = 0, turn = 1; done < cuts; turn++) {
      // The answer of a prompt goes with its editor.
      void editor.agent
        .request(session.prompt, { sessionId, prompt: [{ type: "text", text: told(turn) }] })
        .catch(() => undefined)
      await eventually(`turn ${turn}`, async () => {
        const { items } = await client.messages.list({ session_id: sessionId, limit: 200 })
        return items.filter(({ role }) => role === "user").length === turn
      })
      for (let lost = 0; lost < cutsOfTurn && done < cuts; lost++, done++) {
        // The moment of a cut is what is tried.
        await setTimeout(Math.random() * 400)
        await cut(editor, lost % 2 === 0)
        seen.push(wordsOf(editor.updates))
        editor = await opened(sessionId)
      }
      await eventually(`the end of turn ${turn}`, async () => {
        const { activity } = await client.sessions.get({ session_id: sessionId })
        return activity === "idle"
      })
    }
    const logged = await loggedWords(sessionId)
    // An editor that saw a part of the words saw the beginning of them.
    for (const words of seen)
      for (const [id, said] of Object.entries(words))
        assert.strictEqual(said, (logged[id] ?? "").slice(0, said.length), id)
    assert.isAbove(seen.filter((words) => Object.keys(words).length > 0).length, 0)

    const last = await opened(sessionId)
    await eventually("all words", () => Object.keys(wordsOf(last.updates)).length === Object.keys(logged).length)
    assert.deepStrictEqual(wordsOf(last.updates), logged)
    const { items } = await client.messages.list({ session_id: sessionId, limit: 200 })
    assert.sameMembers(
      [...sentIn(last.updates)],
      items.filter(({ role }) => role === "user").map(({ id }) => id)
    )
    assert.lengthOf(
      toolsOf(last.updates).filter(({ status, title }) => status === "completed" && title.includes("bash")),
      Math.ceil(cuts / cutsOfTurn)
    )
    // Nothing was cancelled by an editor that went.
    const turns = await client.turns.list({ session_id: sessionId, limit: 200 })
    assert.deepStrictEqual([...new Set(turns.items.map(({ state }) => state))], ["succeeded"])
    await Promise.all([editor.close(), last.close()])
  },
  cuts * 20_000 + 60_000
)
