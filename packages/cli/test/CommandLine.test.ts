import { NodeContext } from "@effect/platform-node"
import type { Entry } from "@reins/cli/Command"
import { runCommand } from "@reins/cli/CommandLine"
import { accountCommands, workCommands } from "@reins/cli/Commands"
import { everyCommand } from "@reins/cli/Resolved"
import { nearest } from "@reins/cli/terminal/Suggestion"
import { captured } from "@reins/testing/process/Captured"
import { Cause, Effect, Exit } from "effect"
import fc from "fast-check"
import { assert, describe, it } from "vitest"

const commands = [...workCommands, ...accountCommands]

/** Runs a program that has these commands alone, and writes a line before it tells a failure. */
const run = async (commands: ReadonlyArray<Entry>, ...words: ReadonlyArray<string>) => {
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)]
  try {
    const program = {
      commands,
      version: "1.2.3",
      beforeFailure: () => void process.stderr.write("the log\n"),
      reasonOf: (cause: Cause.Cause<unknown>) => Effect.succeed(`Mend ${Cause.squash(cause)}.`)
    }
    const exit = await Effect.runPromiseExit(Effect.provide(runCommand(program, words), NodeContext.layer))
    return { failed: Exit.isFailure(exit), stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.release()
    stderr.release()
  }
}

describe("a program of the client's commands alone", () => {
  it("has every one of them, with its help", async () => {
    const names = (await everyCommand(commands)).map(({ path }) => path.join(" "))
    assert.includeMembers(names, ["run", "sessions watch", "keys revoke", "automations add"])
    assert.notIncludeMembers(names, ["serve"])
    const { stdout } = await run(commands, "help", "run")
    assert.isTrue(stdout.startsWith("Usage: reins run "), stdout)
  })

  it.each(["--version", "-V", "-v"])("tells its version for %s", async (words) => {
    assert.strictEqual((await run(commands, words)).stdout, "1.2.3\n")
  })

  it("completes its own commands", async () => {
    const { stdout } = await run(commands, "--completions", "bash")
    assert.include(stdout, "merge-requests")
    assert.notInclude(stdout, "doctor")
  })

  it("tells an unknown command in a sentence, after what was logged", async () => {
    assert.deepStrictEqual(await run(commands, "serve"), {
      failed: true,
      stdout: "",
      stderr: 'the log\nreins: There is no command "serve". See: reins help\n'
    })
  })

  it("asks its program for the sentence of a defect", async () => {
    const broken = { name: "broken", about: "Breaks", load: () => Promise.reject(new Error("a fault")) }
    const { failed, stderr } = await run([broken], "broken")
    assert.isTrue(failed)
    assert.strictEqual(stderr, "the log\nreins: Mend Error: a fault.\n")
  })
})

describe("words that are nearly right", () => {
  it("nearest finds a word behind one slip, and nothing for another word", () => {
    const words = ["list", "watch", "deliver", "openai_chat"]
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.nat(), (word, place) => {
        const slip = place % (word.length - 1)
        const swapped = word.slice(0, slip) + word[slip + 1] + word[slip] + word.slice(slip + 2)
        assert.strictEqual(nearest(swapped, words), word)
        assert.strictEqual(nearest(word.slice(0, slip) + word.slice(slip + 1), words), word)
      })
    )
    assert.isUndefined(nearest("xyzzy", words))
  })
})
