import type { Duration, Effect, Redacted } from "effect"
import type { Executor } from "../executor/Executor.js"
import type { InstalledHarness } from "./Install.js"
import type { Manifest } from "./Manifest.js"

/**
 * The part of a connection that a turn may use. Secrets go to the agent's environment and nowhere else. The setting `base_url` is what
 * `/chat/completions`, `/responses`, `/messages` and `/models` are appended to, as in `https://api.openai.com/v1`.
 */
export interface HarnessConnection {
  /** As `ConnectionKind.kind` names it. */
  readonly kind: string
  /** The readable fields of the credential. */
  readonly settings: Readonly<Record<string, string>>
  /** The secret fields, which a driver writes to the environment of its agent only. */
  readonly secrets: Readonly<Record<string, Redacted.Redacted<string>>>
}

/** A part of what the agent is told. A file is not read for the agent: it is told where the file is. */
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
      /** Absolute. */
      readonly path: string
      /** The file's own name, without a folder. */
      readonly name: string
      /** Null where the name does not tell. */
      readonly mediaType: string | null
      /** In bytes. */
      readonly size: number
    }

/** One turn of one native session. */
export interface TurnInput {
  /** The description of the provider, which says how its agent is started. */
  readonly manifest: Manifest
  /** The place where the agent's program is on this machine. */
  readonly installed: InstalledHarness
  /** Starts the agent's processes. Nothing else may. */
  readonly executor: Executor
  /** Every process of the turn bears this id; `Executor.reap` finds them by it. */
  readonly leaseId: string
  /** Absolute path; the agent works here. */
  readonly workspaceDir: string
  /** Absolute path; the agent's HOME, kept between the turns of a session. */
  readonly homeDir: string
  /** Null where the provider runs without a credential. */
  readonly connection: HarnessConnection | null
  /** The name of the model as its gateway knows it; null leaves the choice to the agent. */
  readonly model: string | null
  /** The agent's own session to go on with; null opens a new one. */
  readonly nativeSessionId: string | null
  /** All that the agent is told, in this order. */
  readonly prompt: ReadonlyArray<PromptBlock>
  /**
   * Runs once the agent is ready in its native session, before it is asked anything: until then it has done nothing. With false it is
   * not asked any more, and the stream ends with `cancelled`.
   */
  readonly beforePrompt?: (nativeSessionId: string) => Effect.Effect<boolean>
  /** Completes when the turn should be cancelled; never completing is fine. The stream then ends with `cancelled`. */
  readonly cancel: Effect.Effect<unknown>
  /**
   * The option that was chosen for the `asked` event with this id, or null when nobody chose. Waits for it. Absent where the agent
   * may not ask: the manifest's `permission_answer` then decides at once.
   */
  readonly ask?: (requestId: string) => Effect.Effect<string | null>
  /** The longest time for the whole turn. */
  readonly deadline: Duration.DurationInput
  /** Instead of the manifest's `silence_timeout_ms`. */
  readonly silenceTimeout?: Duration.DurationInput
  /** Gets every line from (`in`) and to (`out`) the agent before it is parsed, with the connection's secrets blanked. */
  readonly onLine?: (direction: "in" | "out", line: string) => Effect.Effect<void>
}
