import { fn } from "@reins/base/base/Traced"
import { Context, Effect, Layer } from "effect"
import type { FollowRequest } from "../capture/agent/AgentRemote.js"
import { WayOut } from "../outbound/WayOut.js"
import type { InitRequest } from "../repository/Repository.js"
import { urlRefusal } from "../repository/remote/RemoteUrl.js"
import type { GitError } from "../repository/run/GitError.js"
import type { GitMeans } from "../repository/run/GitMeans.js"
import { GitOptions, type GitOptionsShape } from "../repository/run/GitOptions.js"
import { processMarks } from "../repository/run/GitVariables.js"
import type { RemoteMethods } from "./RemoteMethods.js"
import type { TreeMethods } from "./TreeMethods.js"

/**
 * Git over a trusted git directory that lies outside the workspace. No method ever runs git inside the workspace's own `.git`, reads its
 * configuration, or executes anything that the workspace or the remote's content names: hooks, filters, monitors, external diffs. Commits and
 * trees are full hexadecimal object ids.
 *
 * A method that is interrupted, or passes its time limit, ends its git process and the children of that process.
 */
export class Git extends Context.Tag("@reins/core/git/Git")<
  Git,
  RemoteMethods &
    TreeMethods & {
      /**
       * The sentence that refuses a remote which this service never contacts, by its address alone. Undefined for any other remote, whose name
       * may still lead to an address that is refused.
       */
      readonly refusal: (url: string) => string | undefined
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
        treeModes: method("treeModes", checkOuts, ({ treeModes }) => treeModes),
        bundle: method("bundle", bundles, ({ bundle }) => bundle),
        unbundle: method("unbundle", bundles, ({ unbundle }) => unbundle),
        addBundle: method("addBundle", bundles, ({ addBundle }) => addBundle),
        checkOut: method("checkOut", checkOuts, ({ checkOut }) => checkOut),
        followRemote: method(
          "followRemote",
          agentRemote,
          ({ followRemote }) =>
            (_, request: FollowRequest) =>
              followRemote(request)
        ),
        reattach: method("reattach", loadReattach, ({ reattach }) => reattach),
        remoteHead: method("remoteHead", methods, ({ remoteHead }) => remoteHead),
        joinBranch: method("joinBranch", methods, ({ joinBranch }) => joinBranch),
        mergeBranch: method("mergeBranch", methods, ({ mergeBranch }) => mergeBranch),
        leftMarks: method("leftMarks", methods, ({ leftMarks }) => leftMarks),
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
const agentRemote = Effect.promise(() => import("../capture/agent/AgentRemote.js"))

/** Only a session whose object store is gone uses it. */
const loadReattach = Effect.promise(() => import("../capture/agent/Reattach.js"))

/** Only installations with snapshots use them. */
const bundles = Effect.promise(() => import("../repository/Bundles.js"))

/** Loaded where a session is restored. */
const checkOuts = Effect.promise(() => import("./read/CheckOut.js"))
