import { CoreConfig } from "@reins/base/base/CoreConfig"
import { failpoint } from "@reins/base/base/Failpoint"
import { type CredentialId, MessageId, newId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import type { HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import type { Manifest } from "@reins/machine/harness/Manifest"
import { Effect } from "effect"
import { MessageStore } from "../../sessions/messages/MessageStore.js"
import { InteractionStore } from "../../sessions/questions/InteractionStore.js"
import { ToolRuns } from "../../tools/ToolRuns.js"
import { runTraces } from "../../traces/LoadedTraces.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { type PreparedAgent, TurnSetup } from "../setup/TurnSetup.js"
import type { TurnWork } from "../setup/TurnWork.js"
import { makeAsk } from "./AskAgent.js"
import { budgetGate } from "./BudgetGate.js"
import { TurnOutput } from "./TurnOutput.js"
import { TurnQuestions } from "./TurnQuestions.js"
import { turnWords } from "./TurnWords.js"
import { wantedResults } from "./WantedResults.js"
import { Witness } from "./Witness.js"
import { makeKeepCalls, makeWrite, type Speech } from "./WriteOutput.js"

/** The run of an agent for one turn, from its start to its end. */
export interface AgentRun extends Speech {
  /** The id of the message that will hold the agent's words. Their parts are announced with it. */
  readonly messageId: MessageId
  /** The version of the credential that the run used; null without a connection. */
  readonly credentialId: CredentialId | null
  readonly leaseId: string
  /** The reason that the harness gave up; undefined when it did not. */
  readonly failure: HarnessFailure | undefined
}

/**
 * The second step of an attempt. The harness works, and its output is written while it comes. The agent gets a loan instead of its credential,
 * and the loan is good for the run only.
 */
export const runAgent = Effect.gen(function* () {
  const { turnDeadlineMs } = yield* CoreConfig
  const { agents } = yield* Bench
  const interactions = yield* InteractionStore
  const wordsOf = yield* turnWords
  const messages = yield* MessageStore
  const askAgent = yield* makeAsk
  const writeOutput = yield* makeWrite
  const keepNativeState = yield* makeKeepState
  const states = yield* AgentStateStore

  const keepCalls = yield* makeKeepCalls
  const gateOf = yield* budgetGate
  const toolRuns = yield* ToolRuns
  const wanted = yield* wantedResults
  const tracesOf = yield* runTraces

  const converse = Effect.fnUntraced(function* (
    work: TurnWork,
    prepared: PreparedAgent,
    speech: Speech,
    rightLost: Effect.Effect<void>
  ) {
    const { attempt, message, session, turn } = work
    // An agent without a session of its own knows nothing of the conversation, so it gets the summary of the session before.
    const { ear, options, order, permissions } = prepared
    const handoff = order.native_session === null ? yield* messages.findHandoff(session.id) : undefined
    const answers = order.tools && (yield* toolRuns.of(session, turn))
    const callTool = answers && (speech.traces?.answering(answers) ?? answers)
    const said = agents.run(
      {
        agent: order,
        prompt: [
          ...(handoff?.content ?? []),
          ...message.content,
          ...(yield* wanted.wordsFor(work, callTool !== undefined))
        ],
        ...(options && { options }),
        permissions,
        deadline_ms: Math.min(turnDeadlineMs, 1000 * (order.limits?.turn_seconds ?? Infinity))
      },
      {
        ...ear,
        began: (nativeSessionId) => askAgent(work, prepared, nativeSessionId, handoff),
        cancelled: Effect.asVoid(Effect.raceAll([attempt.cancelRequested, speech.witness.gaveUp, speech.gate.gaveUp])),
        cutOff: rightLost,
        calls: speech.witness,
        ...(callTool && { callTool, followUp: wanted.repairOf(work) }),
        ...(order.isAnswered && { answer: speech.questions.answer }),
        ...(isTalking(prepared.manifest) && wordsOf(work))
      }
    )
    return yield* writeOutput(work, speech, said)
  })

  return Effect.fnUntraced(function* (work: TurnWork, prepared: PreparedAgent, rightLost: Effect.Effect<void>) {
    const messageId = yield* newId(MessageId)
    const subjects = { turn_id: work.turn.id, job_id: work.attempt.claim.jobId }
    const told = JSON.parse((yield* states.told(work.session.id)) ?? "{}")
    const output = new TurnOutput(messageId, subjects, prepared.nativeCost, told)
    const questions = new TurnQuestions(interactions, work.attempt, work.turn)
    const { credentialId, order, prices } = prepared
    const talk = Effect.gen(function* () {
      const gate = yield* gateOf(work, prepared)
      const traces = tracesOf?.(work)
      const witness = yield* Witness.make(order.model, gate, traces?.called)
      const speech: Speech = { output, questions, witness, gate, prices, traces }
      const failure = yield* converse(work, prepared, speech, rightLost).pipe(
        Effect.tapDefect(() => keepNativeState(work)),
        // The end of the turn keeps the last calls. Without an end they are kept here, because they have used what they have used.
        Effect.onError(() => keepCalls(work, speech)),
        Effect.ensuring(Effect.suspend(() => traces?.over(output.answer().content) ?? Effect.void))
      )
      return { ...speech, failure }
    })
    const run: AgentRun = { messageId, credentialId, leaseId: order.lease, ...(yield* Effect.scoped(talk)) }
    yield* failpoint("turn.agent_ended")
    return run
  })
})

const isTalking = ({ capabilities }: Manifest): boolean =>
  capabilities.steer === "supported" || capabilities.interrupt === "supported"

/**
 * Stores the digest of the agent's own state when the run dies. Starting the agent may have changed that state, and the next attempt goes on
 * from it.
 */
const makeKeepState = Effect.gen(function* () {
  const states = yield* AgentStateStore
  const setup = yield* TurnSetup

  return ({ attempt, session }: TurnWork) =>
    Effect.flatMap(setup.nativeDigest(session), (native_digest) =>
      attempt.commit(states.change(session.id, { native_digest }))
    ).pipe(
      // The step that ends a lost attempt stores the digest anew, so this one may be missed.
      Effect.catchAllCause(() => Effect.void)
    )
})
