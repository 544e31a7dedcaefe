import type { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import type { FormContent } from "@reins/base/domain/Form"
import type { Guidance } from "@reins/base/domain/Guidance"
import type { Duration, Effect, Option, Redacted } from "effect"
import type { AgentPlaces, Executor } from "../executor/Executor.js"
import type { Passage } from "../outbound/WayOut.js"
import type { AskedFiles } from "../subjects/AskedFiles.js"
import type { OptionChoices } from "./AgentReport.js"
import type { InstalledHarness } from "./Install.js"
import type { Manifest } from "./Manifest.js"
import type { PermissionPolicy } from "./Permissions.js"

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
  /** Texts that nobody is to read, each with the text in its place: addresses inside the service, and those that people know them by. */
  readonly told?: Readonly<Record<string, string>>
  /** The port of the service's own relay on 127.0.0.1 that `base_url` leads to; absent where no relay stands before the gateway. */
  readonly relayPort?: number
}

/** A part of the prompt. The agent gets the path of a file, and reads the file itself unless it takes the content. */
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
      /** Gives the content; none when it is larger than so many bytes or cannot be read. Absent where only the path may be told. */
      readonly read?: (maxBytes: number) => Effect.Effect<Option.Option<Uint8Array>>
    }

/** The answer of a person to what an agent asks. */
export interface QuestionAnswer {
  /** The option that was chosen, by its id. */
  readonly option: string
  /** The words that the agent is told beside it; null for none. */
  readonly note: string | null
  /** The values of a form; null for none. */
  readonly content: FormContent | null
  /** The digest of the subject that was allowed; null or absent where the question has none. */
  readonly seen?: string | null
}

/** Something that is said to an agent in the middle of its turn. */
export interface Word {
  /** `steer` goes into what the agent does; `interrupt` stops that, and the agent goes on with this. */
  readonly kind: "steer" | "interrupt"
  /** All that is said, in this order. */
  readonly prompt: ReadonlyArray<PromptBlock>
  /** Is run once: with `taken` when the agent has it, and with `left` when the agent has ended its work and does not. */
  readonly settle: (outcome: "taken" | "left") => Effect.Effect<void>
}

/** A server of the Model Context Protocol over HTTP. Only what has its token may be answered. */
export interface ToolServer {
  /** The name that the agent knows it by. */
  readonly name: string
  /** The address of its endpoint. */
  readonly url: string
  /** The bearer token of the agent. */
  readonly token: Redacted.Redacted
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
  /**
   * Waits until the files of the workspace are there; false when they cannot be made. Absent where they are there. The directory is empty until
   * then, and what starts meanwhile must not depend on it.
   */
  readonly workspaceMade?: Effect.Effect<boolean>
  /**
   * Looks at the workspace before the agent opens its session. The effect that it gives is run when the session is open, before the first prompt.
   * Absent where nobody looks.
   */
  readonly opening?: Effect.Effect<Effect.Effect<void>>
  /** The instructions and skills of the project, with a digest of them; absent where it has none. */
  readonly guidance?: { readonly digest: string; readonly read: Effect.Effect<Guidance> }
  /** The files of the workspace, for the subjects of approvals. Absent, no place of a change is known. */
  readonly files?: AskedFiles
  /** The absolute paths of directories that the agent may read besides; none where it is absent. */
  readonly additionalDirectories?: ReadonlyArray<string>
  /** The absolute path of the directory with the objects that the agent's repository shares; absent where it has all itself. */
  readonly objectsDir?: string
  /** The absolute path of the agent's HOME, which is kept between the turns of a session. */
  readonly homeDir: string
  /** The paths at which the agent finds these two, where its executor gives it others. */
  readonly seenAt?: AgentPlaces
  /** Null where the provider runs without a credential. */
  readonly connection: HarnessConnection | null
  /** The proxy through which the agent connects to the hosts that its project allows; absent where it allows none, or says nothing. */
  readonly passage?: Passage
  /** The variables that the project adds to those of the provider; none where it is absent. Those that are secrets are redacted. */
  readonly environment?: Readonly<Record<string, string | Redacted.Redacted>>
  /** The limits that hold for the agent besides those of its executor. */
  readonly limits?: ExecutorLimits | undefined
  /** The servers that the agent gets further tools from; none where it is absent. An agent that speaks to no such server is not told of them. */
  readonly toolServers?: ReadonlyArray<ToolServer>
  /** The name of the model as its gateway knows it; null leaves the choice to the agent. */
  readonly model: string | null
  /** True where people answer what the agent asks. False or absent, the agent offers them neither forms nor pages. */
  readonly isAnswered?: boolean
  /** True for an agent that is to ask before it acts; false or absent for one that acts by itself. */
  readonly isGuarded?: boolean
  /** The agent's own session to go on with; null opens a new one. */
  readonly nativeSessionId: string | null
  /** Gets every line from the agent (`in`) and to it (`out`) before it is parsed. The connection's secrets are blanked. */
  readonly onLine?: (direction: "in" | "out", line: string) => Effect.Effect<void>
}

/** One turn of a started agent. */
export interface TurnRequest {
  /** All that the agent is told, in this order. */
  readonly prompt: ReadonlyArray<PromptBlock>
  /** The options of the agent that are chosen, by their id or category; the agent's own where it is absent. */
  readonly options?: OptionChoices
  /** Runs when the agent is ready and has done nothing in this turn yet. When it gives false, the agent gets no prompt and the turn is `cancelled`. */
  readonly beforePrompt?: (nativeSessionId: string) => Effect.Effect<boolean>
  /** Completes when the turn is to be cancelled, and the turn then ends with `cancelled`. It may never complete. */
  readonly cancel: Effect.Effect<unknown>
  /**
   * Waits for the answer of a person to the `asked` event with this id; null when nobody answered. Absent where the agent may not ask. The
   * manifest's `permission_answer` then decides at once.
   */
  readonly ask?: (requestId: string) => Effect.Effect<QuestionAnswer | null>
  /** The tools that the agent may use without asking people; null or absent for all that its manifest lets it. */
  readonly permissions?: PermissionPolicy | null
  /**
   * Gives the next thing that is said to the agent while it works. Absent where nothing is. The driver takes one only when it has settled the one
   * before, and takes none once it has ended.
   */
  readonly nextWord?: Effect.Effect<Word>
  /** Gives what the agent is told when it has ended its work, in the same turn; undefined for nothing more. */
  readonly followUp?: Effect.Effect<ReadonlyArray<PromptBlock> | undefined>
  /** The time limit for the turn, from the moment that the agent is ready. */
  readonly deadline: Duration.DurationInput
  /** Replaces the manifest's `silence_timeout_ms`. */
  readonly silenceTimeout?: Duration.DurationInput
  /** True while the service itself holds a model call of the agent, which may be silent for as long. Absent where nothing holds calls. */
  readonly isHeld?: () => boolean
}

/** A turn with the start of its agent. */
export interface TurnInput extends AgentInput, TurnRequest {}
