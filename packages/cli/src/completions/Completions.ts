import { Effect } from "effect"
import type { Entry } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { didYouMean } from "../terminal/Suggestion.js"
import { bash } from "./Bash.js"
import { fish } from "./Fish.js"
import { places } from "./Place.js"
import { zsh } from "./Zsh.js"

const shells = { bash, zsh, fish, sh: bash }

const isShell = (name: string): name is keyof typeof shells => Object.hasOwn(shells, name)

/** Prints the completions of a program for a shell, which evaluates them. */
export const completions = (
  entries: ReadonlyArray<Entry>,
  shell: string | undefined
): Effect.Effect<void, CommandFailed> =>
  shell !== undefined && isShell(shell)
    ? Effect.promise(async () => void process.stdout.write(shells[shell](await places(entries))))
    : new CommandFailed({
        message:
          shell === undefined
            ? "--completions needs a shell: bash, zsh or fish."
            : `There are no completions for "${shell}".${didYouMean(shell, Object.keys(shells))} There are: bash, zsh, fish.`
      })
