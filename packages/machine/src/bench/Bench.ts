import type { SessionId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer, type Scope } from "effect"
import type {
  DirectoryEntry,
  FileDigestMismatch,
  FileError,
  FileRead,
  FileWritten,
  WriteOptions
} from "../files/Files.js"
import type { TreeFilter } from "../git/findings/Filters.js"
import type { GitCredential } from "../repository/remote/RemoteUrl.js"
import type { GitError } from "../repository/run/GitError.js"
import type { Agents } from "./Agents.js"
import type { Changes } from "./Changes.js"
import type { Disk } from "./Disk.js"
import type { AttachedFile } from "./SessionPaths.js"
import type { SetupNote } from "./setup/SetupReport.js"
import type { TreeSnapshots } from "./snapshots/TreeSnapshots.js"
import type { ObjectSource, SetupOrder, TreeBase, TreeOrder, TreeOrigin } from "./TreeOrder.js"

// The port between the rows of sessions and the machine that has their files and runs their agents. What crosses it is plain data: requests,
// answers, events, and the questions of an ear.

/** The questions that a bench asks while it makes the files of a session, and the news that it gives. Each waits for its answer. */
export interface MakingEar {
  /** The credential for the repository; undefined for none. It is asked for right before each use. */
  readonly credential: Effect.Effect<GitCredential | undefined, GitError>
  /** The objects of the changeset that the files begin with. They are there until the scope closes. */
  readonly seed: Effect.Effect<ObjectSource, GitError, Scope.Scope>
  /** The directories of the session are there, and empty: its agent may start beside the making of the files. */
  readonly beside: Effect.Effect<void>
  /** Something in a directory of the session is in the way: its processes have to end. */
  readonly clear: Effect.Effect<void>
  /** Tells of a setup, in order. */
  readonly setup: (notes: ReadonlyArray<SetupNote>) => Effect.Effect<void>
  /** Completes when nobody needs the files any more. It may never complete. */
  readonly closed: Effect.Effect<void>
}

/** The files of a session as a bench finds them. */
export interface TreeState {
  /** True when the working tree is there. */
  readonly isThere: boolean
  /** False for a session whose repository shares objects that are gone or in doubt. `reattach` mends it. */
  readonly isReliable: boolean
  /** True for a session that came from a snapshot without what its setup leaves. `setUpAgain` brings that. */
  readonly owesSetup: boolean
}

/** The files of sessions. A bench knows a session by its id, and keeps the paths to itself. The caller lets one change of a session's files run at a time. */
export interface Trees {
  readonly look: (session: SessionId) => Effect.Effect<TreeState>
  /**
   * Makes the files of a session: its repository at the base, or nothing, what its setup leaves, and its seed on top. Whatever an earlier attempt
   * has left there goes first. Gives the base.
   */
  readonly make: (order: TreeOrder, ear: MakingEar) => Effect.Effect<TreeBase, GitError>
  /** Brings what a setup leaves into files that came from a snapshot. What is there stays as it is. */
  readonly setUpAgain: (
    origin: TreeOrigin,
    setup: SetupOrder,
    ear: Pick<MakingEar, "credential" | "setup" | "closed">
  ) => Effect.Effect<void, GitError>
  /** Gives a session its shared objects back. True when they came anew: an agent that has started before does not see them. */
  readonly reattach: (origin: TreeOrigin, ear: Pick<MakingEar, "credential">) => Effect.Effect<boolean, GitError>
  /** The filters that the attributes of a commit of a session name. */
  readonly filters: (session: SessionId, commit: string) => Effect.Effect<ReadonlyArray<TreeFilter>, GitError>
  /** Removes the working tree and the home of a session for good. Its captured changes stay. */
  readonly remove: (session: SessionId) => Effect.Effect<void>
}

/** The files in the working trees of sessions, in which agents may work at the same time. Paths are relative to the working tree. */
export interface TreeFiles {
  /** As `Files.list`. */
  readonly list: (
    session: SessionId,
    path: string
  ) => Effect.Effect<{ readonly items: ReadonlyArray<DirectoryEntry>; readonly truncated: boolean }, FileError>
  /** As `Files.read`. */
  readonly read: (session: SessionId, path: string, maxBytes: number) => Effect.Effect<FileRead, FileError>
  /** As `Files.write`. */
  readonly write: (
    session: SessionId,
    path: string,
    bytes: Uint8Array,
    options: WriteOptions
  ) => Effect.Effect<FileWritten, FileError | FileDigestMismatch>
  /** Puts a file beside the working tree, below the home of the agent. No capture holds it. A repetition writes the same again. */
  readonly attach: (session: SessionId, file: AttachedFile, bytes: Uint8Array) => Effect.Effect<void, FileError>
}

/** Verbs that nobody calls. */
const nothing = <Verbs extends object>(): Verbs =>
  // Boundary: the compiler cannot see that every property is there.
  new Proxy({} as Verbs, { get: () => () => Effect.dieMessage("this process has no bench") })

/** All that touches the machine of sessions. One bench is in this process (`BenchHere.ts`). */
export class Bench extends Context.Tag("@reins/core/bench/Bench")<
  Bench,
  {
    readonly trees: Trees
    readonly files: TreeFiles
    readonly disk: Disk
    readonly snapshots: TreeSnapshots
    readonly agents: Agents
    readonly changes: Changes
  }
>() {
  /** The bench of a process that has no machine, where each verb is a defect. */
  static readonly layerNone = Layer.succeed(Bench, {
    trees: nothing<Trees>(),
    files: nothing<TreeFiles>(),
    disk: nothing<Disk>(),
    snapshots: nothing<TreeSnapshots>(),
    agents: nothing<Agents>(),
    changes: nothing<Changes>()
  })
}
