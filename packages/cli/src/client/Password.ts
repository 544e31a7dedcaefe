import { text } from "node:stream/consumers"
import { Effect, Redacted } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { ask } from "../terminal/Prompts.js"
import { attempt } from "./Remote.js"

/** A password is never an argument, because other users of the machine can read the arguments of a process. */
export const passwordFrom = (fromStdin: boolean) =>
  Effect.gen(function* () {
    if (fromStdin) return Redacted.make((yield* Effect.promise(() => text(process.stdin))).replace(/\r?\n$/, ""))
    const given = process.env["REINS_PASSWORD"]
    if (given !== undefined) return Redacted.make(given)
    if (process.stdin.isTTY) return Redacted.make(yield* attempt(() => ask.secret("Password")))
    return yield* new CommandFailed({
      message: "There is no password. Give it with --password-stdin or in REINS_PASSWORD."
    })
  })
