import { assert, describe, it } from "@effect/vitest"
import { agentText } from "@reins/core/deliveries/Authors"
import { commitMessage } from "@reins/core/deliveries/work/DeliveryCommit"
import { automationPaused, careHandedOver, invitation } from "@reins/core/identity/MailTemplates"
import { Redacted } from "effect"

const hostile = "Mend\u001b[2J\u001b]0;owned\u0007 the\n\nCo-authored-by: Eve <eve@example.com>\u202e\u2066\u2028 名前"
const unseen = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u

describe("names and titles that leave the installation", () => {
  it("are one line of a commit, and add no trailer to it", () => {
    const message = commitMessage(hostile, ["Reins-Session: sess_1", "Assisted-by: alpha m\u202e\nX: y"])
    const [subject = "", none, ...trailers] = message.split("\n")
    assert.notMatch(subject, unseen)
    assert.include(subject, "名前")
    assert.strictEqual(none, "")
    assert.deepStrictEqual(trailers, ["Reins-Session: sess_1", "Assisted-by: alpha m X: y"])
  })

  it("are a commit's subject as they are, in every alphabet", () => {
    for (const title of ["Fix it", "Исправить", "名前を直す", "إصلاح", "🙂 done", "x".repeat(500)])
      assert.strictEqual(commitMessage(title, ["A: b"]), `${title}\n\nA: b`)
    for (const title of [null, "", " \u202e\n "])
      assert.strictEqual(commitMessage(title, ["A: b"]), "Changes by a coding session\n\nA: b")
  })

  it.each([
    ["OpenCode", "gpt-5", "OpenCode:gpt-5"],
    ["Claude Code", "claude-opus-4-5", "Claude-Code:claude-opus-4-5"],
    ["Codex (Zed adapter)", "openai/gpt-5", "Codex:openai/gpt-5"],
    ["GitHub Copilot CLI", null, "GitHub-Copilot-CLI"],
    [" A: B\t(C) ", "m 1:2", "A-B:m-1:2"]
  ])("are one word of the kernel's trailer: %j with %j", (name, model, expected) => {
    assert.strictEqual(agentText(name, model), expected)
  })

  it("are words of one line in a mail", () => {
    const options = { publicUrl: "https://reins.example" } as Parameters<typeof invitation>[0]
    const account = { email: "a@example.com", display_name: hostile } as Parameters<typeof careHandedOver>[1]
    const invited = {
      email: "b@example.com",
      inviter_email: "a@example.com",
      role: "member",
      workspace_name: hostile
    } as Parameters<typeof invitation>[1]
    for (const { subject, text } of [
      invitation(options, invited, Redacted.make("token")),
      automationPaused(options, account, { automation_id: "auto_1", name: hostile, reason: "failures" }),
      careHandedOver(options, account, { merge_request_id: "mr_1", title: hostile, reason: "It asks." })
    ]) {
      assert.notMatch(subject, unseen)
      assert.notMatch(text.replaceAll("\n", ""), unseen)
      assert.notMatch(text, /^Co-authored-by/m)
      assert.include(text, "名前")
    }
  })
})
