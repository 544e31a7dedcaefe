import type { Deferred, Effect, Option, Ref } from "effect"
import type { Emit } from "../HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../HarnessEvent.js"
import type { Runtime } from "../Manifest.js"
import type { Scrubber } from "../Secrets.js"
import type { AgentInput, TurnInput } from "../TurnInput.js"
import type { InitializeResult } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"
import type { AgentFacts } from "./AgentFacts.js"
import type { Served } from "./JsonRpc.js"
import type { Talk } from "./Talk.js"
import type * as Transcript from "./Transcript.js"
import type { UsageMeter } from "./UsageMeter.js"

/** The state of an agent that lives as long as its process, over all of its turns. */
export interface AcpAgent {
  readonly input: AgentInput
  readonly runtime: Runtime
  readonly settings: AcpSettings
  readonly scrubber: Scrubber
  /** Fails when the agent can give no result any more. */
  readonly broken: Deferred.Deferred<never, HarnessFailure>
  /** The agent's words about a failed model call, from outside the protocol. */
  readonly report: Ref.Ref<string>
  /** The last lines that the agent wrote to stderr, without secrets. */
  readonly lastLines: Ref.Ref<ReadonlyArray<string>>
  /** Counts what the process uses. */
  readonly meter: UsageMeter
  /** The turn that the agent works on; undefined between turns. */
  readonly turn: Ref.Ref<RunningTurn | undefined>
  /** The events that the next turn begins with. They collect while the agent starts. */
  readonly opening: Ref.Ref<ReadonlyArray<HarnessEvent>>
  /** True until the native session is open. */
  readonly isStarting: Ref.Ref<boolean>
  /** The abilities of the agent, from its handshake on. */
  readonly offered: Ref.Ref<NonNullable<InitializeResult["agentCapabilities"]>>
  readonly facts: AgentFacts
  /** Done while the agent owes no answer to a prompt. */
  readonly answered: Ref.Ref<Deferred.Deferred<void>>
}

/** The state that the parts of a running turn share. It ends with the turn, and its agent may go on. */
export interface RunningTurn {
  readonly agent: AcpAgent
  readonly input: TurnInput
  readonly runtime: Runtime
  readonly settings: AcpSettings
  readonly scrubber: Scrubber
  /** The agent's words about a failed model call in this turn, from outside the protocol. */
  readonly report: Ref.Ref<string>
  readonly emit: Emit
  /** Fails when the turn can have no result any more. */
  readonly broken: Deferred.Deferred<never, HarnessFailure>
  /** The transcript, from the time that the prompt is sent. Earlier updates are a replay. */
  readonly transcript: Ref.Ref<Option.Option<Transcript.Transcript>>
  readonly cancelled: Ref.Ref<boolean>
  /** Done once the agent was told of the cancellation. */
  readonly cancelSent: Deferred.Deferred<void>
  /** The number of questions that the agent has asked people. */
  readonly asked: Ref.Ref<number>
  /** The questions that have no answer yet, by their ids. */
  readonly questions: Map<string, OpenQuestion>
  /** Those who wait for the next message about a tool call, by its id. */
  readonly awaited: Map<string, Deferred.Deferred<void>>
  readonly talk: Talk
  readonly lastLineAt: Ref.Ref<number>
}

/** A question that waits for its answer. */
export interface OpenQuestion {
  readonly requestId: string
  /** The id of the agent's request, by which the agent withdraws it. */
  readonly rpcId: string | number
  /** The id by which the agent tells that the page of a link has done its work. */
  readonly elicitationId: unknown
  /** Tells people of a change of the call that the question is about; undefined for a question that is about none. */
  readonly revise: ((toolId: string) => Effect.Effect<void>) | undefined
  /** Done when the agent does not wait any more, with the answer that it gets all the same. */
  readonly over: Deferred.Deferred<Served>
}
