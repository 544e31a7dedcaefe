import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { helpOf } from "@reins/cli/Parser"
import { everyCommand } from "@reins/cli/Resolved"
import { commands } from "@reins/server/cli/Commands"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type At, reinsAt } from "./Cli.js"

let at: At = { cwd: "", env: {} }

beforeAll(() => {
  const cwd = mkdtempSync(join(tmpdir(), "reins-help-"))
  at = { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd } }
})

afterAll(() => rmSync(at.cwd, { recursive: true, force: true }))

const refusal = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr, stdout } = await reinsAt(at, args)
  assert.deepStrictEqual([status, stdout], [1, ""], args.join(" "))
  assert.match(stderr, /^reins: [^\n]+\n$/)
  return stderr.slice("reins: ".length, -1)
}

describe("the help of every command", () => {
  it("has its usage, a line for each option, its own options first, and two examples that are its own", async () => {
    for (const each of await everyCommand(commands)) {
      const { command, path } = each
      const help = helpOf(each)
      const name = `reins ${path.join(" ")}`
      assert.isTrue(help.startsWith(`Usage: ${name} `), help)
      assert.notMatch(help, /user-defined|is optional|true or false/)
      if (command.kind !== "leaf") continue
      const takes = Object.values(command.takes)
      const own = takes.filter(({ group, kind }) => kind === "option" && group === undefined)
      const lines = help.split("\n").filter((line) => /^ {2}-/.test(line))
      assert.strictEqual(lines.length, takes.filter(({ kind }) => kind === "option").length + 1, help)
      for (const [index, { name }] of own.entries())
        assert.match(lines[index] ?? "", new RegExp(`^  (?:-\\w, )?--${name}\\b`))
      for (const line of lines) assert.isAtMost(line.length, 130, line)
      assert.match(lines.at(-1) ?? "", /^ {2}-h, --help /)
      assert.isAtLeast(command.examples.length, 2)
      for (const [words, about] of command.examples) assert.notStrictEqual(words, about)
      assert.include(command.examples.map(([words]) => words).join("\n"), name)
    }
  })

  it("is the same for both ways to ask, and fails for a command that is not there", async () => {
    const asked = await reinsAt(at, ["help", "sessions", "watch"])
    assert.deepStrictEqual(asked, await reinsAt(at, ["sessions", "watch", "--help"]))
    assert.strictEqual(asked.status, 0)
    assert.strictEqual(await refusal("help", "runn"), 'There is no command "runn". Did you mean reins run?')
    assert.match(
      await refusal("help", "sessions", "lss"),
      /^There is no command "sessions lss"\. Did you mean reins sessions ls\?$/
    )
  })
})

describe("words that are nearly right", () => {
  it("are answered with the command, option or choice that was meant", async () => {
    assert.strictEqual(await refusal("run", "--jsno", "x"), "There is no option --jsno. Did you mean --json?")
    assert.match(await refusal("sessions", "lsit"), /Did you mean reins sessions list\?$/)
    assert.match(
      await refusal("init", "--protocol", "openai_caht"),
      /^--protocol cannot be "openai_caht"\. Did you mean openai_chat\? There are: /
    )
    assert.match(await refusal("harnesses", "enable", "cluade"), /cluade.* Did you mean claude\? /)
  })

  it("are answered with what there is where nothing is near", async () => {
    assert.match(await refusal("sessions", "xyzzy"), /^There is no command "sessions xyzzy"\. There are: list, .+\.$/)
    assert.strictEqual(await refusal("xyzzy"), 'There is no command "xyzzy". See: reins help')
    assert.strictEqual(await refusal("run", "--xyzzy"), "There is no option --xyzzy. See: reins help run")
    assert.match(await refusal("sessions", "watch", "a", "b"), /^sessions watch takes 1 argument\. /)
    assert.match(await refusal("run", "--repo"), /^--repo needs a value: /)
    assert.strictEqual(await refusal("sessions", "list", "--limit", "0"), "--limit has to be a number from 1 to 100.")
  })

  it("list and ls are one command everywhere", async () => {
    for (const [group, other] of [
      ["sessions", "ls"],
      ["keys", "ls"],
      ["webhooks", "ls"],
      ["harnesses", "ls"],
      ["node", "ls"]
    ] as const) {
      const { stdout } = await reinsAt(at, ["help", group, other])
      assert.match(stdout, new RegExp(`^Usage: reins ${group} list `))
    }
  })
})

describe("completions", () => {
  const script = async (shell: string): Promise<string> => {
    const { status, stderr, stdout } = await reinsAt(at, ["--completions", shell])
    assert.strictEqual(status, 0, stderr)
    return stdout
  }

  /** The words that one bash offers for the last of each list, one list after the other. */
  const offeredByBash = (
    file: string,
    ...lines: ReadonlyArray<ReadonlyArray<string>>
  ): ReadonlyArray<ReadonlyArray<string>> => {
    const asks = lines.map((typed) => {
      const words = ["reins", ...typed].map((word) => `'${word}'`).join(" ")
      return `COMPREPLY=(); COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _reins 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}" ---`
    })
    const asked = [`source ${file}`, ...asks].join("; ")
    const { stderr, stdout } = spawnSync("bash", ["-c", asked], { encoding: "utf8", cwd: at.cwd })
    assert.strictEqual(stderr, "")
    return stdout
      .split("---\n")
      .slice(0, -1)
      .map((offered) => offered.split("\n").filter((word) => word !== ""))
  }

  it("in bash offer commands, options, and each choice as one word", async () => {
    const file = join(at.cwd, "reins.bash")
    writeFileSync(file, await script("bash"))
    const protocols = ["openai_chat", "openai_responses", "anthropic_messages", "gemini"]
    const [providers = [], ...others] = offeredByBash(
      file,
      ["harnesses", "enable", "claude", ""],
      ["se"],
      ["sessions", "wa"],
      ["help", "sessions", "wa"],
      ["sessions", "ls", "--js"],
      ["init", "--protocol", ""],
      ["init", "--protocol", "=", "open"],
      ["run", "--repo", ""]
    )
    assert.include(providers, "gemini")
    assert.deepStrictEqual(others, [
      ["sessions", "serve"],
      ["watch"],
      ["watch"],
      ["--json"],
      protocols,
      protocols.slice(0, 2),
      []
    ])
  })

  it.each([
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]]
  ] as const)("for %s are read by it where it is installed, and hold each choice as a word", async (shell, check) => {
    const text = await script(shell)
    assert.match(text, /openai_chat'? '?openai_responses'? '?anthropic_messages/)
    const file = join(at.cwd, `reins.${shell}`)
    writeFileSync(file, text)
    const { error, status, stderr } = spawnSync(shell, [...check, file], { encoding: "utf8" })
    if (error === undefined) assert.deepStrictEqual([status, stderr], [0, ""])
  })

  it("for another shell say which there are", async () => {
    assert.match(await refusal("--completions", "bsah"), /Did you mean bash\? There are: bash, zsh, fish\.$/)
  })
})
