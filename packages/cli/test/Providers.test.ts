import { assert, describe, it } from "@effect/vitest"
import { chosenProvider } from "@reins/cli/client/Providers"

const listed = [
  { provider_id: "alpha", display_name: "OpenCode", tier: "supported" },
  { provider_id: "beta", display_name: "Codex", tier: "supported" },
  { provider_id: "gamma", display_name: "Reserved", tier: "disabled" }
]

const available = [
  { provider_id: "claude", display_name: "Claude Code" },
  { provider_id: "opencode", display_name: "OpenCode" },
  { provider_id: "gemini", display_name: "Gemini CLI" }
]

const chosen = (name: string | undefined, off: typeof available | undefined = available) =>
  chosenProvider(listed, name, off).provider_id

describe("the agent of a command", () => {
  it.each([
    [undefined, "alpha"],
    ["beta", "beta"],
    ["Codex", "beta"],
    ["code x", "beta"],
    // An agent that is on comes before one of the same name that is off.
    ["opencode", "alpha"],
    ["openc", "alpha"]
  ])("%s is %s", (name, id) => {
    assert.strictEqual(chosen(name), id)
  })

  it.each(["claude", "Claude Code", "claude-code", "CLAUDE"])(
    "%s is off, with the command that turns it on",
    (name) => {
      assert.throws(
        () => chosen(name),
        "Claude Code is off on this server. Its operator turns it on, and then an owner installs it: `reins harnesses enable claude`, `reins agents enable claude`. There are: OpenCode (alpha), Codex (beta). Off here: OpenCode (opencode), Gemini CLI (gemini)."
      )
      assert.throws(
        () => chosenProvider(listed, name, available, "owners"),
        "Claude Code is off on this server. An owner of the workspace turns it on: `reins agents enable claude`. There are: OpenCode (alpha), Codex (beta). Off here: OpenCode (opencode), Gemini CLI (gemini)."
      )
    }
  )

  it("is none that is reserved or unknown, and all are named", () => {
    const off =
      "Off here: Claude Code (claude), OpenCode (opencode), Gemini CLI (gemini). Turn one on: `reins harnesses enable claude`, `reins agents enable claude`"
    assert.throws(() => chosen("gamma"), `There is no agent "gamma". There are: OpenCode (alpha), Codex (beta). ${off}`)
    assert.throws(() => chosen("codec"), 'There is no agent "codec". Did you mean codex? There are')
    assert.throws(() => chosen("gemni"), 'There is no agent "gemni". Did you mean gemini? There are')
  })

  it("is not offered where the server has no package of it", () => {
    const [claude, ...others] = available
    const off = [{ ...claude, provider_id: "claude", display_name: "Claude Code", installable: false }, ...others]
    assert.throws(
      () => chosenProvider(listed, "claude", off, "owners"),
      "Claude Code is off on this server. Claude Code has no package for the system of the server. There are: OpenCode (alpha), Codex (beta). Off here: OpenCode (opencode), Gemini CLI (gemini)."
    )
    assert.throws(
      () => chosenProvider(listed, "nope", off, "owners"),
      'There is no agent "nope". There are: OpenCode (alpha), Codex (beta). Off here: OpenCode (opencode), Gemini CLI (gemini). Turn one on: `reins agents enable opencode`'
    )
  })

  it("is asked of a server of an earlier release, which does not tell what is off", () => {
    assert.throws(
      () => chosen("claude", []),
      /^There is no agent "claude"\. There are: OpenCode \(alpha\), Codex \(beta\)\.$/
    )
  })
})
