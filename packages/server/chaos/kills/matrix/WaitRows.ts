import { password } from "@reins/testing/process/Caller"
import { assert } from "vitest"
import { delegationWithoutResult, newName } from "../Scenes.js"
import type { World } from "../World.js"
import type { Row } from "./Row.js"

const keepWait = (world: World, delegation_id: string) =>
  world.api.delegations.wait({ delegation_id, wake: "message", timeout_seconds: 0 })

const submit = (world: World, delegation_id: string) =>
  world.api.delegations.submitResult({ delegation_id, kind: "generic", summary: "It is well.", value: {} })

/** The session that delegated was told of the end by one message, and did one turn on it. */
const holdsWake = async (world: World, delegation: { readonly id: string; readonly session_id: string }) => {
  const { items } = await world.api.messages.list({ session_id: delegation.session_id })
  const wakes = items.filter((message) => message.kind === "delegation")
  assert.lengthOf(wakes, 1)
  assert.include(JSON.stringify(wakes[0]?.content), delegation.id)
  const turns = await world.api.turns.list({ session_id: delegation.session_id })
  assert.deepStrictEqual(
    turns.items.map((turn) => turn.state),
    ["succeeded"]
  )
}

export const waitIsKept: Row = {
  rule: "a wait that was stored is the same wait when it is asked for again, and wakes once",
  play: async (world, crash) => {
    const delegation = await delegationWithoutResult(world)
    const { wait } = await crash(() => keepWait(world, delegation.id))
    assert.strictEqual((await keepWait(world, delegation.id)).wait.id, wait.id)
    await submit(world, delegation.id)
    await world.settled()
    await holdsWake(world, delegation)
  }
}

export const sessionIsWokenOnce: Row = {
  rule: "the session that delegated is told of the end by one message",
  play: async (world, crash) => {
    const delegation = await delegationWithoutResult(world)
    await keepWait(world, delegation.id)
    await crash(() => submit(world, delegation.id))
    await holdsWake(world, delegation)
    assert.strictEqual((await world.api.delegations.wait({ delegation_id: delegation.id })).wait.state, "satisfied")
  }
}

/** Exactly once but where the mail server took it and nobody lived to write that down: then again, under the same Message-ID. */
export const mailArrives = (times: 1 | 2): Row => ({
  rule:
    times === 1
      ? "a mail is handed over once"
      : "a mail that was taken before the kill comes again, as the same message",
  play: async (world, crash) => {
    const email = `${newName("someone").replace(" ", "-")}@example.org`
    await crash(() => world.stranger.accounts.register({ email, password }))
    const mails = world.mail.mails.filter((mail) => mail.to.includes(email))
    assert.lengthOf(mails, times)
    assert.strictEqual(new Set(mails.map((mail) => mail.messageId)).size, 1)
  }
})
