import { it } from "@effect/vitest"
import * as Bubblewrap from "@reins/machine/executor/Bubblewrap"
import { Effect, Either } from "effect"

const made = await Effect.runPromise(Effect.either(Bubblewrap.make(`boot_sandbox_${process.pid}`)))

// Executors.test.ts fails where there has to be a sandbox.
if (Either.isLeft(made)) process.stderr.write(`\n*** the sandbox is NOT tested: ${made.left.message} ***\n\n`)

/** Makes a test of agents in the sandbox, which is skipped where that does not work. */
export const sandboxed = it.scopedLive.skipIf(Either.isLeft(made))
