import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import { WayOut } from "../outbound/WayOut.js"
import type { FollowRequest } from "./AgentRemote.js"
import type { ApplyRequest, ApplyResult } from "./ApplyTree.js"
import type { AddRequest, BundleRequest, CheckOutRequest, UnbundleRequest } from "./Bundles.js"
import type { SnapshotRequest } from "./Capturing.js"
import type { CommitRequest } from "./Commit.js"
import type { DiffRequest, DiffText, PatchRequest } from "./Diff.js"
import type { FiltersRequest, TreeFilter } from "./Filters.js"
import type { GitError } from "./GitError.js"
import type { GitMeans } from "./GitMeans.js"
import { GitOptions, type GitOptionsShape } from "./GitOptions.js"
import { processMarks } from "./GitVariables.js"
import type { LeftRequest } from "./LeftInGit.js"
import type { Obstacle, ObstacleRequest } from "./Obstacles.js"
import type { OwnRequest } from "./OwnFiles.js"
import type { PushRequest, PushResult, RemoteHeadRequest } from "./Push.js"
import type { ReattachRequest } from "./Reattach.js"
import { urlRefusal } from "./RemoteUrl.js"
import type { CloneRequest, CloneResult, InitRequest, ResolveRequest } from "./Repository.js"
import type { Snapshot } from "./Snapshot.js"
import type { DigestedSubject, SubjectRequest } from "./Subject.js"
import type { Blob, BlobRequest, TreeEntry, TreeRequest } from "./Tree.js"
import type { WrittenRequest } from "./Written.js"

/**
 * Git over a trusted git directory that lies outside the workspace. No method ever runs git inside the workspace's own `.git`, reads its
 * configuration, or executes anything that the workspace or the remote's content names: hooks, filters, monitors, external diffs. Commits and
 * trees are full hexadecimal object ids.
 *
 * A method that is interrupted, or passes its time limit, ends its git process and the children of that process.
 */
export class Git extends Context.Tag("@reins/core/git/Git")<
  Git,
  {
    /**
     * The sentence that refuses a remote which this service never contacts, by its address alone. Undefined for any other remote, whose name
     * may still lead to an address that is refused.
     */
    readonly refusal: (url: string) => string | undefined
    /**
     * Fetches the remote into `gitDir` and checks out `ref` in `workTree` (absent or empty before) as an ordinary clone
     * with a `.git` of its own, whose remote URL carries no credential. `ref` is a branch, a tag or a full commit id;
     * null means the remote's default branch. From an empty remote comes `commit: null`.
     * Fails with `ref_not_found`, `not_found`, `auth_required`, `remote_refused`, `remote_unavailable`, `timeout`, or `conflict`
     * when `workTree` holds something.
     */
    readonly clone: (request: CloneRequest) => Effect.Effect<CloneResult, GitError>
    /**
     * The commit that `clone` would check out now, without fetching it: an answer of the remote proves that the credential is good there.
     * Fails like `clone`.
     */
    readonly resolve: (request: ResolveRequest) => Effect.Effect<CloneResult, GitError>
    /** Makes `gitDir`, and `workTree` (absent or empty before) as an ordinary repository without a commit. */
    readonly init: (request: InitRequest) => Effect.Effect<void, GitError>
    /**
     * The present content of the workspace as a tree in `gitDir`, with its differences from `base` (null: from nothing).
     * The tree is a function of base and content alone: ignored files that base does not hold stay out, content is
     * stored as the attributes of the workspace say (`text`, `eol`, `ident`, `working-tree-encoding`; no filter runs), and the agent's own
     * `.git` has no influence. `diagnostics` names what could not be captured:
     * nested repositories, special or oversized files. `files` is sorted by path. The tree
     * is on disk for certain, unless it was `passing`. Nothing pins it: see `keep`.
     */
    readonly snapshot: (request: SnapshotRequest) => Effect.Effect<Snapshot, GitError>
    /**
     * Takes what the workspace holds now for its start: later snapshots leave out what is still so, and the whole file where it has changed
     * since. `base` is the commit that the workspace started from. A snapshot that is `whole` leaves nothing out.
     */
    readonly adopt: (request: SnapshotRequest) => Effect.Effect<void, GitError>
    /**
     * Looks at the places that the program of an agent writes for itself. The effect that it gives looks again: later snapshots leave out what has
     * changed between, and the whole file once it is changed further. It is run before the model of the agent is asked for anything.
     */
    readonly watchOwnFiles: (request: OwnRequest) => Effect.Effect<Effect.Effect<void, GitError>, GitError>
    /** Tells the next snapshot that the files of a workspace that was copied with its trusted directory are those that were snapshotted. */
    readonly refresh: (request: Omit<SnapshotRequest, "base">) => Effect.Effect<void, GitError>
    /** The sealed description of `tree` against `base`, and its digest `sha256:<hex>`. Equal if and only if the content is. */
    readonly subject: (request: SubjectRequest) => Effect.Effect<DigestedSubject, GitError>
    /** A commit of `tree`. The same request gives the same commit id, always. */
    readonly commitTree: (request: CommitRequest) => Effect.Effect<string, GitError>
    /**
     * Pins the commit of a snapshot as `refs/reins/<ref>`, so that it is never dropped by garbage collection. Repeating it changes
     * nothing.
     */
    readonly keep: (request: {
      readonly gitDir: string
      readonly ref: string
      readonly commit: string
    }) => Effect.Effect<void, GitError>
    /**
     * The paths that differ between two captures of a workspace and whose files were written before a time, as the system tells it. A path that
     * has no file any more is none of them.
     */
    readonly writtenBefore: (request: WrittenRequest) => Effect.Effect<ReadonlyArray<string>, GitError>
    /**
     * Sentences about work that is in the agent's own git and not in a captured tree: commits elsewhere, a stash, files of the index, operations
     * that were not ended. Nothing of the repository is run. Never fails: a part that cannot be read is a sentence too.
     */
    readonly leftBehind: (request: LeftRequest) => Effect.Effect<ReadonlyArray<string>, GitError>
    /**
     * The reasons not to deliver a tree unless somebody allows them, the gravest first. One is content that a filter of the repository has not
     * stored. The other is an added name that differs from another one by case or Unicode form alone. A function of the objects alone.
     */
    readonly obstacles: (request: ObstacleRequest) => Effect.Effect<ReadonlyArray<Obstacle>, GitError>
    /** The filters that the attributes of a tree name, those of most files first, at most 20. Fails with `conflict` above 200,000 files. */
    readonly filters: (request: FiltersRequest) => Effect.Effect<ReadonlyArray<TreeFilter>, GitError>
    /**
     * A unified diff for people: renames found, binary content named only. At most 1,000 files, 512 KiB a file and 1 MiB in all, and `omitted`
     * says which lines were left out. `path` narrows it to one file or folder, by its name before or after.
     */
    readonly diff: (request: DiffRequest) => Effect.Effect<DiffText, GitError>
    /**
     * The whole change as a text that `git apply` accepts, whatever bytes the content has. Fails with `conflict` above `maxBytes`.
     */
    readonly patch: (request: PatchRequest) => Effect.Effect<string, GitError>
    /** Every file of a tree, sorted by path; `truncated` beyond 100,000. */
    readonly listTree: (
      request: TreeRequest
    ) => Effect.Effect<{ readonly items: ReadonlyArray<TreeEntry>; readonly truncated: boolean }, GitError>
    /**
     * One file of a tree. Of a symbolic link the bytes are its target, which is never followed. `size` and `digest` are of
     * the whole content also when `bytes` is cut at `maxBytes`. Fails with `not_found` for an absent path or a folder.
     */
    readonly readBlob: (request: BlobRequest) => Effect.Effect<Blob, GitError>
    /** Every file of a tree with git's mode of it, by its path as latin1, which keeps every byte of a name. */
    readonly treeModes: (request: TreeRequest) => Effect.Effect<ReadonlyMap<string, string>, GitError>
    /**
     * Writes the references of a trusted directory and what they need into a file, from which `unbundle` makes another one. Equal objects
     * give equal bytes. False, without a file, when there are no references of the kind.
     */
    readonly bundle: (request: BundleRequest) => Effect.Effect<boolean, GitError>
    /** Makes a trusted directory from bundles, at a path where nothing is. Fails when an object is missing, or the remote lacks the base. */
    readonly unbundle: (request: UnbundleRequest) => Effect.Effect<void, GitError>
    /** Adds what a bundle holds to a trusted directory. Fails when that lacks what the bundle builds on. */
    readonly addBundle: (request: AddRequest) => Effect.Effect<void, GitError>
    /** Writes the files of a commit to a folder that has none of them, as its attributes say. Later snapshots of the folder find them unchanged. */
    readonly checkOut: (request: CheckOutRequest) => Effect.Effect<void, GitError>
    /**
     * Gives `origin` of the agent's own repository another URL, where it still has the one of before. False where it has not. Git is not run
     * there.
     */
    readonly followRemote: (request: FollowRequest) => Effect.Effect<boolean, GitError>
    /**
     * Makes sure of the object store of a workspace, which is gone or in doubt. Where it is damaged, the remote gives its objects anew, and both
     * repositories of the workspace name the store that is asked for. False where the store is whole. Fails like `clone`.
     */
    readonly reattach: (request: ReattachRequest) => Effect.Effect<boolean, GitError>
    /** The head of the remote's branch now; null when the branch does not exist. */
    readonly remoteHead: (request: RemoteHeadRequest) => Effect.Effect<string | null, GitError>
    /**
     * Moves the remote's branch to `commit`. It looks first: a branch that is at `commit` already is success without a
     * push (`pushed: false`), and a branch that is not at `expectedHead` (null: absent) is `remote_head_changed`. `fast_forward` refuses
     * a commit that does not contain the head with `rejected_non_fast_forward`; `force_with_lease` replaces exactly the
     * expected head. Also fails with `branch_protected`, `auth_required`, `remote_unavailable`, `timeout`.
     */
    readonly push: (request: PushRequest) => Effect.Effect<PushResult, GitError>
    /**
     * Brings the change from `base` to `tree` onto the target workspace's present content. `three_way` merges, `exact`
     * wants every touched path as `base` has it. With a conflict or with `dryRun` the target stays untouched. `conflicts`
     * lists the paths in conflict, `changed` the paths that were written, or would be.
     */
    readonly applyTree: <E = never>(request: ApplyRequest<E>) => Effect.Effect<ApplyResult, GitError | E>
  }
>() {
  static readonly layer: Layer.Layer<Git, never, WayOut> = Layer.effect(
    Git,
    Effect.gen(function* () {
      const options: GitMeans = { ...(yield* GitOptions), wayOut: yield* WayOut }
      /** A method whose processes carry the marks of the service, so that a later start finds those that were left behind. */
      const method = <Module, Request, A>(
        name: string,
        module: Effect.Effect<Module>,
        pick: (module: Module) => (means: GitMeans, request: Request) => Effect.Effect<A, GitError>
      ) =>
        fn(`Git.${name}`)((request: Request) =>
          Effect.locally(
            Effect.flatMap(module, (loaded) => pick(loaded)(options, request)),
            processMarks,
            options.marks
          )
        )
      return Git.of({
        refusal: (url) => urlRefusal(options, url),
        clone: method("clone", methods, ({ clone }) => clone),
        resolve: method("resolve", methods, ({ resolve }) => resolve),
        init: method(
          "init",
          methods,
          ({ init }) =>
            (_, request: InitRequest) =>
              init(request)
        ),
        adopt: method("adopt", methods, ({ adopt }) => adopt),
        watchOwnFiles: method("watchOwnFiles", methods, ({ watchOwnFiles }) => watchOwnFiles),
        refresh: method("refresh", methods, ({ refreshed }) => refreshed),
        snapshot: method("snapshot", methods, ({ snapshot }) => snapshot),
        subject: method("subject", methods, ({ subjectOf }) => subjectOf),
        commitTree: method("commitTree", methods, ({ commitTree }) => commitTree),
        keep: method("keep", methods, ({ keep }) => keep),
        writtenBefore: method("writtenBefore", methods, ({ writtenBefore }) => writtenBefore),
        leftBehind: method("leftBehind", methods, ({ leftInGit }) => leftInGit),
        obstacles: method("obstacles", methods, ({ obstacles }) => obstacles),
        filters: method("filters", methods, ({ filters }) => filters),
        diff: method("diff", methods, ({ diff }) => diff),
        patch: method("patch", methods, ({ patch }) => patch),
        listTree: method("listTree", methods, ({ listTree }) => listTree),
        readBlob: method("readBlob", methods, ({ readBlob }) => readBlob),
        treeModes: method("treeModes", bundles, ({ treeModes }) => treeModes),
        bundle: method("bundle", bundles, ({ bundle }) => bundle),
        unbundle: method("unbundle", bundles, ({ unbundle }) => unbundle),
        addBundle: method("addBundle", bundles, ({ addBundle }) => addBundle),
        checkOut: method("checkOut", bundles, ({ checkOut }) => checkOut),
        followRemote: method(
          "followRemote",
          agentRemote,
          ({ followRemote }) =>
            (_, request: FollowRequest) =>
              followRemote(request)
        ),
        reattach: method("reattach", loadReattach, ({ reattach }) => reattach),
        remoteHead: method("remoteHead", methods, ({ remoteHead }) => remoteHead),
        push: method("push", methods, ({ push }) => push),
        applyTree: (request) =>
          Effect.flatMap(methods, ({ applyTree }) => applyTree(options, request)).pipe(
            Effect.locally(processMarks, options.marks),
            Effect.withSpan("Git.applyTree")
          )
      })
    })
  )

  /** The same service with other options. An option that is not named keeps its default. */
  static readonly layerWith = (options: Partial<GitOptionsShape>): Layer.Layer<Git, never, WayOut> =>
    Git.layer.pipe(Layer.provide(GitOptions.layer(options)))
}

/** A start runs no git, so it loads none of this. */
const methods = Effect.promise(() => import("./Methods.js"))

/** Only a session whose repository moved uses it. */
const agentRemote = Effect.promise(() => import("./AgentRemote.js"))

/** Only a session whose object store is gone uses it. */
const loadReattach = Effect.promise(() => import("./Reattach.js"))

/** Only installations with snapshots use them. */
const bundles = Effect.promise(() => import("./Bundles.js"))
