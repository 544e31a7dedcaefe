import { it } from "@effect/vitest"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { Effect } from "effect"
import { isRecording, keepExamples } from "../test/contract/Recording.js"
import { told } from "../test/e2e/Told.js"

it.scopedLive(
  "every operation of the specification does its part in one piece of work with the real agent of alpha",
  () =>
    Effect.gen(function* () {
      const recorded = yield* told({ REINS_EXECUTOR: testExecutor }, { agentKeepsState: true })
      if (isRecording) keepExamples(recorded)
    }),
  1_200_000
)
