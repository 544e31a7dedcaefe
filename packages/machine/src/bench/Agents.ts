import type { Guidance } from "@reins/base/domain/Guidance"
import type { SessionId } from "@reins/base/domain/Ids"
import { Data, type Effect, type Scope, type Stream } from "effect"
import type { PooledTurn } from "../agents/AgentPool.js"
import type { HarnessEvent, HarnessFailure } from "../harness/HarnessEvent.js"
import type { QuestionAnswer } from "../harness/TurnInput.js"
import type { CallTool } from "../relay/mcp/ToolOffer.js"
import type { AgentKind, AgentOrder, NativeRecord, SaidWord, StoppedAgent, TurnOrder } from "./AgentOrder.js"
import type { PromptPart } from "./TurnPrompt.js"

/** An agent cannot run on a bench. `message` says why to a person; it is empty for a program that is not there. */
export class AgentMissing extends Data.TaggedError("AgentMissing")<{
  readonly reason: "no_provider" | "not_installed" | "no_executor"
  readonly message: string
}> {}

/** The questions of a bench about an agent that it starts. */
export interface AgentEar {
  /** Waits until the files of the session are made; false when they cannot be. Absent where they are there. */
  readonly made?: Effect.Effect<boolean>
  /** Gives the instructions and skills of the project. Absent where the order names none. */
  readonly guidance?: Effect.Effect<Guidance>
}

/** The questions of a bench about a turn that it runs, and the news of it. Each waits for its answer. */
export interface TurnEar extends AgentEar {
  /** The agent is ready and has done nothing yet. False ends the turn as `cancelled`, and the agent is told nothing. */
  readonly began: (nativeSession: string) => Effect.Effect<boolean>
  /** Completes when the turn is to be cancelled. It may never complete. */
  readonly cancelled: Effect.Effect<void>
  /** Completes when the turn has lost its right. Its model calls, tools and connections end at once, before the agent is stopped. It may never complete. */
  readonly cutOff?: Effect.Effect<void>
  /** Waits for the answer of a person to an `asked` event; null when nobody answered. Absent where the agent may not ask. */
  readonly answer?: (request: string) => Effect.Effect<QuestionAnswer | null>
  /** Waits for the next thing that is said to the agent while it works. Absent where nothing is. */
  readonly nextWord?: Effect.Effect<SaidWord>
  /** Gives what the agent is told when it has ended its work, in the same turn; null for nothing more. Absent where nothing is. */
  readonly followUp?: Effect.Effect<ReadonlyArray<PromptPart> | null>
  /** Tells what became of a word: the agent has it, or has ended its work without it. */
  readonly settle?: (word: string, outcome: "taken" | "left") => Effect.Effect<void>
  /** Answers the calls of the tools of its order. Absent where nobody does. */
  readonly callTool?: CallTool
  /** Holds the model calls of the turn until they have leave, and hears of their ends. */
  readonly calls?: NonNullable<PooledTurn["observer"]>
}

/** The agents of sessions. A lease has one at a time, which a completed turn leaves for the next one. */
export interface Agents {
  /** Tells whether an agent finds its directories at paths of its own. Fails where it cannot run. */
  readonly find: (kind: AgentKind) => Effect.Effect<{ readonly ownPaths: boolean }, AgentMissing>
  /** As `AgentPool.hasRoom`. */
  readonly hasRoom: Effect.Effect<boolean>
  /** As `AgentPool.prepare`. */
  readonly open: (order: AgentOrder, ear: AgentEar) => Effect.Effect<Effect.Effect<void>>
  /** As `AgentPool.reserve`. */
  readonly reserve: (order: AgentOrder, ear: AgentEar) => Effect.Effect<void, never, Scope.Scope>
  /** As `AgentPool.run`. */
  readonly run: (order: TurnOrder, ear: TurnEar) => Stream.Stream<HarnessEvent, HarnessFailure>
  /** As `AgentPool.isKept`. */
  readonly isKept: (lease: string) => Effect.Effect<boolean>
  /** As `AgentPool.stop`. */
  readonly stop: (lease: string) => Effect.Effect<void>
  /** As `AgentPool.dismiss`. */
  readonly dismiss: (lease: string) => Effect.Effect<void>
  /** Stops the agent that is kept for a lease, and ends every process of it. Gives the number of those that it had left running. */
  readonly reap: (lease: string, backend: string) => Effect.Effect<number>
  /** The digest of an agent's own state; null without one. A state that cannot be read is a defect. */
  readonly state: (session: SessionId, provider: string) => Effect.Effect<string | null>
  /** The agent's own state as an archive, of at most so many bytes. */
  readonly record: (session: SessionId, provider: string, maxBytes: number) => Effect.Effect<NativeRecord>
  /** Runs whenever an agent was stopped between its turns, before anybody goes on from the state that it left. The last one that is given counts. */
  readonly onStopped: (hear: (agent: StoppedAgent) => Effect.Effect<void>) => Effect.Effect<void>
}
