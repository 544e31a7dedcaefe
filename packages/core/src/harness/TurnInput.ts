import type { Duration, Effect, Redacted } from "effect"
import type { Executor } from "../executor/Executor.js"
import type { InstalledHarness } from "./Install.js"
import type { Manifest } from "./Manifest.js"

/**
 * The part of a connection that a turn may use. Secrets go to the agent's environment and nowhere else. Agents append `/chat/completions`,
 * `/responses`, `/messages` or `/models` to the setting `base_url`, for example `https://api.openai.com/v1`.
 */
export interface HarnessConnection {
  /** As `ConnectionKind.kind` names it. */
  readonly kind: string
  /** The readable fields of the credential. */
  readonly settings: Readonly<Record<string, string>>
  /** The secret fields, which a driver writes to the environment of its agent only. */
  readonly secrets: Readonly<Record<string, Redacted.Redacted<string>>>
  /** The port of the service's own relay on 127.0.0.1 that `base_url` leads to; absent where no relay stands before the gateway. */
  readonly relayPort?: number
}

/** A part of the prompt. The agent gets the path of a file, and reads the file itself. */
export type PromptBlock =
  | {
      /** Words of the message. */
      readonly type: "text"
      /** As the person wrote them. */
      readonly text: string
    }
  | {
      /** A file that was sent with the message. */
      readonly type: "file"
      /** An absolute path. */
      readonly path: string
      /** The file's own name, without a folder. */
      readonly name: string
      /** Null when the name does not show it. */
      readonly mediaType: string | null
      /** The size in bytes. */
      readonly size: number
    }

/** The start of an agent. A null `nativeSessionId` opens a new native session. */
export interface AgentInput {
  /** The description of the provider, which says how its agent is started. */
  readonly manifest: Manifest
  /** The place where the agent's program is on this machine. */
  readonly installed: InstalledHarness
  /** Starts the agent's processes. Nothing else may. */
  readonly executor: Executor
  /** The mark of every process of the agent. `Executor.reap` finds the processes by it. */
  readonly leaseId: string
  /** The absolute path of the directory that the agent works in. */
  readonly workspaceDir: string
  /** The absolute path of the agent's HOME, which is kept between the turns of a session. */
  readonly homeDir: string
  /** Null where the provider runs without a credential. */
  readonly connection: HarnessConnection | null
  /** The name of the model as its gateway knows it; null leaves the choice to the agent. */
  readonly model: string | null
  /** The agent's own session to go on with; null opens a new one. */
  readonly nativeSessionId: string | null
  /** Gets every line from the agent (`in`) and to it (`out`) before it is parsed. The connection's secrets are blanked. */
  readonly onLine?: (direction: "in" | "out", line: string) => Effect.Effect<void>
}

/** One turn of a started agent. */
export interface TurnRequest {
  /** All that the agent is told, in this order. */
  readonly prompt: ReadonlyArray<PromptBlock>
  /** Runs when the agent is ready and has done nothing in this turn yet. When it gives false, the agent gets no prompt and the turn is `cancelled`. */
  readonly beforePrompt?: (nativeSessionId: string) => Effect.Effect<boolean>
  /** Completes when the turn is to be cancelled, and the turn then ends with `cancelled`. It may never complete. */
  readonly cancel: Effect.Effect<unknown>
  /**
   * Waits for the option that a person chooses for the `asked` event with this id; null when nobody chose. Absent where the agent may not ask.
   * The manifest's `permission_answer` then decides at once.
   */
  readonly ask?: (requestId: string) => Effect.Effect<string | null>
  /** The time limit for the turn, from the moment that the agent is ready. */
  readonly deadline: Duration.DurationInput
  /** Replaces the manifest's `silence_timeout_ms`. */
  readonly silenceTimeout?: Duration.DurationInput
}

/** A turn with the start of its agent. */
export interface TurnInput extends AgentInput, TurnRequest {}
