import { FormContent } from "@reins/base/domain/Form"
import { GitIdentity } from "@reins/base/domain/GitIdentity"
import { ChangesetId, ModelCallId, SessionId } from "@reins/base/domain/Ids"
import { AgentKind, AgentOrder, NativeRecord, SaidWord, StoppedAgent, TurnOrder } from "@reins/machine/bench/AgentOrder"
import { AgentMissing } from "@reins/machine/bench/Agents"
import { SetupNote } from "@reins/machine/bench/setup/SetupReport"
import { PartBlob } from "@reins/machine/bench/snapshots/SnapshotManifest"
import {
  PartsApart,
  RestoreOrder,
  SealedPart,
  SealedTree,
  SealOrder,
  SnapshotError
} from "@reins/machine/bench/snapshots/TreeSnapshots"
import { GitLogin, ObjectSource, SetupOrder, TreeBase, TreeOrder, TreeOrigin } from "@reins/machine/bench/TreeOrder"
import { PromptPart } from "@reins/machine/bench/TurnPrompt"
import { FileAccessFailed, FileDigestMismatch, FileNotFound, NotADirectory, NotAFile } from "@reins/machine/files/Files"
import { PathRefused } from "@reins/machine/files/WorkspacePath"
import { DeliveryObstacle } from "@reins/machine/git/findings/Obstacle"
import { HarnessEvent, HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import { OfferedCall, ToolAnswer } from "@reins/machine/relay/mcp/ToolOffer"
import { GitError, type GitErrorKind } from "@reins/machine/repository/run/GitError"
import { Schema } from "effect"

type Plain = Schema.Schema.AnyNoContext

// Boundary: the type of plain schemas holds no schema of nothing.
const never = Schema.Never as unknown as Plain

/** A question of an ear. One without arguments is an effect, and the answer to some is a stream. */
export interface Question {
  readonly takes: ReadonlyArray<Plain> | null
  readonly gives: Plain
  readonly streams?: true
}

/**
 * A verb of a bench as it crosses a socket. `later` gives an effect that waits for the rest. What `scoped` gives is there until its scope closes, and
 * `standing` goes on as long as the connection.
 */
export interface Verb {
  readonly form: "value" | "effect" | "stream" | "later" | "scoped" | "standing"
  readonly takes: ReadonlyArray<Plain>
  readonly gives: Plain
  readonly fails: Plain
  readonly ear: Readonly<Record<string, Question>>
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const text = Schema.String
const texts = Schema.Array(text)
const nullable = Schema.NullOr

const GitFailure = Schema.transform(
  Schema.Struct({
    kind: text,
    message: text,
    mayHaveHappened: optional(Schema.Literal(true)),
    status: optional(Schema.Number),
    inTheWay: optional(text)
  }),
  Schema.instanceOf(GitError),
  {
    strict: true,
    // Boundary: the other side has encoded the kind of a `GitError`.
    decode: ({ kind, ...rest }) => new GitError({ kind: kind as GitErrorKind, ...rest }),
    encode: ({ inTheWay, kind, mayHaveHappened, message, status }) => ({
      kind,
      message,
      ...(mayHaveHappened && { mayHaveHappened }),
      ...(status !== undefined && { status }),
      ...(inTheWay !== undefined && { inTheWay })
    })
  }
)

const SnapshotFailure = Schema.transform(
  Schema.Struct({ message: text, retryable: Schema.Boolean }),
  Schema.instanceOf(SnapshotError),
  {
    strict: true,
    decode: (fields) => new SnapshotError(fields),
    encode: ({ message, retryable }) => ({ message, retryable })
  }
)

const Missing = Schema.transform(
  Schema.Struct({ reason: Schema.Literal("no_provider", "not_installed", "no_executor"), message: text }),
  Schema.instanceOf(AgentMissing),
  {
    strict: true,
    decode: (fields) => new AgentMissing(fields),
    encode: ({ message, reason }) => ({ message, reason })
  }
)

const FileFailure = Schema.Union(PathRefused, FileNotFound, NotAFile, NotADirectory, FileAccessFailed)

const ChangedFile = Schema.Struct({
  path: text,
  old_path: optional(text),
  status: Schema.Literal("added", "modified", "deleted", "renamed", "type_changed"),
  mode: text,
  additions: Schema.Int,
  deletions: Schema.Int,
  binary: Schema.Boolean
})
const Obstacles = Schema.Array(
  Schema.Struct({ kind: DeliveryObstacle, filter: nullable(text), paths: texts, beside: texts })
)
const current = { tree: text, files: Schema.Array(ChangedFile) }
const Captured = Schema.Struct({
  ...current,
  digest: text,
  additions: Schema.Int,
  deletions: Schema.Int,
  diagnostics: texts,
  left: texts,
  hidden: texts,
  obstacles: Schema.Union(text, Obstacles)
})
const Written = Schema.Struct({ session: SessionId, from: text, to: text, before: Schema.Number })
const Change = Schema.Struct({ session: SessionId, base: nullable(text), tree: text })
const Branch = Schema.Struct({ session: SessionId, url: text, branch: text, credential: optional(GitLogin) })
const MergedBranch = Schema.Struct({ tree: text, headTree: text, conflicts: texts })
const MarkedTree = Schema.Struct({ session: SessionId, tree: text, head: text, other: text })

const tokens = nullable(Schema.Number)
const callTimes = { startedAt: Schema.Number, endedAt: Schema.Number }
const callWords = { ...callTimes, status: tokens, words: nullable(text), names: text, pauseMs: tokens }
const callInput = { input: tokens, cached: tokens, cacheWritten: tokens }
const callUsage = Schema.Struct({ ...callInput, output: tokens, reasoning: tokens })
const Call = Schema.Struct({
  ...callWords,
  protocol: Schema.Literal("openai_chat", "openai_responses", "anthropic_messages", "gemini"),
  model: nullable(text),
  hasTools: nullable(Schema.Boolean),
  outcome: Schema.Literal("answered", "refused", "broken_off", "garbled", "unreachable", "abandoned"),
  lack: nullable(Schema.Literal("cut", "withheld")),
  usage: nullable(callUsage),
  admission: optional(ModelCallId)
})
const Leave = Schema.Struct({ admission: Schema.optional(ModelCallId) })
const Refusal = Schema.Struct({ status: Schema.Number, type: text, message: text })

const credential: Question = { takes: null, gives: Schema.UndefinedOr(GitLogin) }
const setup: Question = { takes: [Schema.Array(SetupNote)], gives: Schema.Void }
const moment: Question = { takes: null, gives: Schema.Void }
const blob: Question = { takes: [text], gives: Schema.Uint8ArrayFromBase64, streams: true }
const made: Question = { takes: null, gives: Schema.Boolean }

const verb = (
  form: Verb["form"],
  takes: ReadonlyArray<Plain>,
  gives: Plain,
  fails: Plain = never,
  ear: Verb["ear"] = {}
): Verb => ({ form, takes, gives, fails, ear })

/** Every verb of a bench. The values of each are plain data. */
export const verbs: Readonly<Record<string, Readonly<Record<string, Verb>>>> = {
  trees: {
    look: verb(
      "effect",
      [SessionId],
      Schema.Struct({ isThere: Schema.Boolean, isReliable: Schema.Boolean, owesSetup: Schema.Boolean })
    ),
    make: verb("effect", [TreeOrder], TreeBase, GitFailure, {
      credential,
      seed: { takes: null, gives: ObjectSource },
      beside: moment,
      clear: moment,
      setup,
      closed: moment
    }),
    setUpAgain: verb("effect", [TreeOrigin, SetupOrder], Schema.Void, GitFailure, {
      credential,
      setup,
      closed: moment
    }),
    reattach: verb("effect", [TreeOrigin], Schema.Boolean, GitFailure, { credential }),
    filters: verb(
      "effect",
      [SessionId, text],
      Schema.Array(Schema.Struct({ filter: text, files: Schema.Int })),
      GitFailure
    ),
    remove: verb("effect", [SessionId], Schema.Void)
  },
  disk: {
    list: verb("value", [], Schema.Struct({ present: texts, aside: texts })),
    discard: verb("effect", [SessionId], Schema.Void),
    forget: verb("effect", [SessionId], Schema.Void),
    setAside: verb("effect", [SessionId, Schema.Int], nullable(text)),
    dropScratch: verb("value", [], Schema.Void),
    sweep: verb("value", [], Schema.Void),
    owners: verb("value", [], Schema.Array(Schema.Struct({ workspace_id: text, project_id: nullable(text) }))),
    removeOwned: verb("effect", [texts], Schema.Void, GitFailure),
    bytesOf: verb("effect", [SessionId], Schema.Int),
    shares: verb("effect", [Schema.Array(SessionId)], Schema.Record({ key: text, value: Schema.Int }))
  },
  snapshots: {
    seal: verb("scoped", [SealOrder], nullable(SealedTree), SnapshotFailure),
    sealChangeset: verb("scoped", [SessionId, nullable(text), ChangesetId], PartBlob, SnapshotFailure),
    read: verb("stream", [SessionId, SealedPart], Schema.Uint8ArrayFromBase64, SnapshotFailure),
    restore: verb("effect", [RestoreOrder], texts, SnapshotFailure, {
      blob,
      credential,
      made: moment
    }),
    objects: verb("scoped", [RestoreOrder], ObjectSource, SnapshotFailure, {
      blob,
      credential
    }),
    add: verb("effect", [SessionId, PartsApart], Schema.Void, SnapshotFailure, { blob })
  },
  files: {
    list: verb(
      "effect",
      [SessionId, text],
      Schema.Struct({
        items: Schema.Array(
          Schema.Struct({
            name: text,
            path: text,
            type: Schema.Literal("file", "directory", "symlink", "other"),
            size: Schema.Int,
            mode: text,
            modified_at: Schema.DateTimeUtc
          })
        ),
        truncated: Schema.Boolean
      }),
      FileFailure
    ),
    read: verb(
      "effect",
      [SessionId, text, Schema.Int],
      Schema.Struct({
        path: text,
        encoding: Schema.Literal("utf-8", "base64"),
        content: text,
        size: Schema.Int,
        digest: nullable(text),
        truncated: Schema.Boolean
      }),
      FileFailure
    ),
    write: verb(
      "effect",
      [
        SessionId,
        text,
        Schema.Uint8ArrayFromBase64,
        Schema.Struct({ expectedDigest: optional(text), mode: optional(Schema.Int) })
      ],
      Schema.Struct({ path: text, size: Schema.Int, digest: text }),
      Schema.Union(FileFailure, FileDigestMismatch)
    ),
    attach: verb(
      "effect",
      [SessionId, Schema.Struct({ name: text, digest: text }), Schema.Uint8ArrayFromBase64],
      Schema.Void,
      FileFailure
    )
  },
  agents: {
    find: verb("effect", [AgentKind], Schema.Struct({ ownPaths: Schema.Boolean }), Missing),
    hasRoom: verb("value", [], Schema.Boolean),
    open: verb("later", [AgentOrder], Schema.Void, never, { made }),
    reserve: verb("scoped", [AgentOrder], Schema.Void, never, { made }),
    run: verb("stream", [TurnOrder], HarnessEvent, HarnessFailure, {
      made,
      began: { takes: [text], gives: Schema.Boolean },
      cancelled: moment,
      cutOff: moment,
      answer: {
        takes: [text],
        gives: nullable(Schema.Struct({ option: text, note: nullable(text), content: nullable(FormContent) }))
      },
      nextWord: { takes: null, gives: SaidWord },
      followUp: { takes: null, gives: nullable(Schema.Array(PromptPart)) },
      callTool: { takes: [OfferedCall], gives: ToolAnswer },
      settle: { takes: [text, Schema.Literal("taken", "left")], gives: Schema.Void },
      admit: { takes: [nullable(Schema.Number)], gives: Schema.Union(Refusal, Leave) },
      withdrawn: { takes: [Leave], gives: Schema.Void },
      ended: { takes: [Call], gives: Schema.Void }
    }),
    isKept: verb("effect", [text], Schema.Boolean),
    stop: verb("effect", [text], Schema.Void),
    dismiss: verb("effect", [text], Schema.Void),
    reap: verb("effect", [text, text], Schema.Int),
    state: verb("effect", [SessionId, text], nullable(text)),
    record: verb("effect", [SessionId, text, Schema.Int], NativeRecord),
    onStopped: verb("standing", [], Schema.Void, never, {
      hear: { takes: [StoppedAgent], gives: Schema.Void }
    })
  },
  changes: {
    capture: verb("effect", [SessionId, nullable(text), ChangesetId], Captured, GitFailure),
    current: verb("effect", [SessionId, nullable(text)], Schema.Struct(current), GitFailure),
    diff: verb(
      "effect",
      [Change, Schema.Struct({ path: optional(text), context: optional(Schema.Int) })],
      Schema.Struct({
        diff: text,
        files: Schema.Array(ChangedFile),
        truncated: Schema.Boolean,
        omitted: Schema.Array(Schema.Struct({ path: text, additions: Schema.Int, deletions: Schema.Int }))
      }),
      GitFailure
    ),
    file: verb(
      "effect",
      [SessionId, text, text, Schema.Int],
      Schema.Struct({
        bytes: Schema.Uint8ArrayFromBase64,
        size: Schema.Int,
        digest: text,
        truncated: Schema.Boolean,
        mode: text
      }),
      GitFailure
    ),
    patch: verb("effect", [Change], text, GitFailure),
    obstacles: verb("effect", [Change], Obstacles, GitFailure),
    writtenBefore: verb("effect", [Written], texts, GitFailure),
    apply: verb(
      "effect",
      [
        Schema.Struct({
          source: Schema.Struct({ objects: ObjectSource, base: nullable(text), tree: text }),
          target: Schema.Struct({ session: SessionId, base: nullable(text) }),
          strategy: Schema.Literal("three_way", "exact"),
          dryRun: Schema.Boolean
        })
      ],
      Schema.Struct({ state: Schema.Literal("applied", "conflicted"), conflicts: texts, changed: texts }),
      GitFailure,
      { planned: { takes: [texts], gives: Schema.Void } }
    ),
    commit: verb(
      "effect",
      [
        Schema.Struct({
          session: SessionId,
          tree: text,
          parents: texts,
          message: text,
          date: Schema.DateTimeUtc,
          author: optional(GitIdentity),
          committer: optional(GitIdentity),
          signs: Schema.Boolean
        })
      ],
      text,
      GitFailure,
      { sign: { takes: [Schema.Uint8ArrayFromBase64], gives: text } }
    ),
    join: verb(
      "effect",
      [
        Branch,
        Schema.Struct({
          head: text,
          tree: text,
          own: texts,
          earlier: Schema.NonEmptyArray(Schema.Struct({ commit: text, tree: text }))
        })
      ],
      Schema.Union(
        Schema.Struct({ state: Schema.Literal("contained"), commit: text }),
        Schema.Struct({ state: Schema.Literal("merged"), tree: text, isSame: Schema.Boolean }),
        Schema.Struct({ state: Schema.Literal("conflicted"), paths: texts })
      ),
      GitFailure
    ),
    merge: verb("effect", [Branch, Schema.Struct({ head: text, other: text })], MergedBranch, GitFailure),
    leftMarks: verb("effect", [MarkedTree], texts, GitFailure),
    head: verb("effect", [Branch], nullable(text), GitFailure),
    push: verb(
      "effect",
      [
        Branch,
        Schema.Struct({
          commit: text,
          expectedHead: nullable(text),
          strategy: Schema.Literal("fast_forward", "force_with_lease")
        })
      ],
      Schema.Struct({ head: text, pushed: Schema.Boolean }),
      GitFailure
    ),
    followRemote: verb("effect", [SessionId, text, text], Schema.Boolean, GitFailure)
  }
}
