import { password } from "@reins/testing/process/Caller"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { delegationWithoutResult, newName } from "../Scenes.js"
import type { Row } from "./Row.js"
import { retried } from "./ToolRows.js"

const keepWait = (installation: Installation, delegation_id: string) =>
  installation.api.delegations.wait({ delegation_id, wake: "message", timeout_seconds: 0 })

const submit = (installation: Installation, delegation_id: string) =>
  installation.api.delegations.submitResult({ delegation_id, kind: "generic", summary: "It is well.", value: {} })

/**
 * The session that delegated was told of the end by one message, and did one turn on it. A kill that meets that turn interrupts it, and its retry
 * succeeds.
 */
const holdsWake = async (
  installation: Installation,
  delegation: { readonly id: string; readonly session_id: string }
) => {
  const { items } = await installation.api.messages.list({ session_id: delegation.session_id })
  const wakes = items.filter((message) => message.kind === "delegation")
  assert.lengthOf(wakes, 1)
  assert.include(JSON.stringify(wakes[0]?.content), delegation.id)
  const turns = await installation.api.turns.list({ session_id: delegation.session_id })
  assert.lengthOf(turns.items, 1)
  const [turn] = turns.items
  const wasMet = turn?.reason === "service_restart"
  assert.strictEqual(turn?.state, wasMet ? "interrupted" : "succeeded", JSON.stringify(turn))
  if (wasMet) assert.strictEqual((await retried(installation, turn.id)).state, "succeeded")
}

export const waitIsKept: Row = {
  rule: "a wait that was stored is the same wait when it is asked for again, and wakes once",
  series: "tools",
  play: async (installation, crash) => {
    const delegation = await delegationWithoutResult(installation)
    const { wait } = await crash(() => keepWait(installation, delegation.id))
    assert.strictEqual((await keepWait(installation, delegation.id)).wait.id, wait.id)
    await submit(installation, delegation.id)
    await installation.settled()
    await holdsWake(installation, delegation)
  }
}

export const sessionIsWokenOnce: Row = {
  rule: "the session that delegated is told of the end by one message",
  series: "tools",
  play: async (installation, crash) => {
    const delegation = await delegationWithoutResult(installation)
    await keepWait(installation, delegation.id)
    await crash(() => submit(installation, delegation.id))
    await holdsWake(installation, delegation)
    assert.strictEqual(
      (await installation.api.delegations.wait({ delegation_id: delegation.id })).wait.state,
      "satisfied"
    )
  }
}

/** Exactly once but where the mail server took it and nobody lived to write that down: then again, under the same Message-ID. */
export const mailArrives = (times: 1 | 2): Row => ({
  rule:
    times === 1
      ? "a mail is handed over once"
      : "a mail that was taken before the kill comes again, as the same message",
  play: async (installation, crash) => {
    const email = `${newName("someone").replace(" ", "-")}@example.org`
    await crash(() => installation.stranger.accounts.register({ email, password }))
    const mails = installation.mail.mails.filter((mail) => mail.to.includes(email))
    assert.lengthOf(mails, times)
    assert.strictEqual(new Set(mails.map((mail) => mail.messageId)).size, 1)
  }
})
