import { CoreConfig } from "@reins/base/base/CoreConfig"
import { failpoint } from "@reins/base/base/Failpoint"
import type { ChangesetId, SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Git } from "../git/Git.js"
import type { Changes, TreeCapture } from "./Changes.js"
import { sessionPaths } from "./SessionPaths.js"
import { gitDirOf } from "./TreesHere.js"

/** The changes of the sessions of this machine. */
export const changesHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const placesOf = (session: SessionId) => {
    const { gitDir, workTree } = sessionPaths(dataDir, session)
    return { gitDir, workTree }
  }
  const at = <Request extends { readonly session: SessionId }>({ session, ...request }: Request) => ({
    ...request,
    gitDir: placesOf(session).gitDir
  })

  const changes: Changes = {
    capture: yield* makeCapture,
    current: (session, base) =>
      Effect.map(git.snapshot({ ...placesOf(session), base, passing: true }), ({ files, tree }) => ({ files, tree })),
    diff: (change, view) => git.diff({ ...at(change), ...view }),
    file: (session, tree, path, maxBytes) => git.readBlob(at({ session, tree, path, maxBytes })),
    patch: (change) => git.patch(at(change)),
    obstacles: (change) => git.obstacles(at(change)),
    writtenBefore: ({ session, ...request }) => git.writtenBefore({ ...placesOf(session), ...request }),
    apply: ({ dryRun, source, strategy, target }, { planned }) =>
      git.applyTree({
        source: { gitDir: gitDirOf(dataDir, source.objects), base: source.base, tree: source.tree },
        target: { ...placesOf(target.session), base: target.base },
        strategy,
        dryRun,
        planned
      }),
    commit: ({ signs, ...request }, { sign }) => git.commitTree({ ...at(request), ...(signs && { sign }) }),
    head: (branch) => git.remoteHead(at(branch)),
    join: (branch, work) => git.joinBranch({ ...at(branch), ...work }),
    merge: (branch, commits) => git.mergeBranch({ ...at(branch), ...commits }),
    leftMarks: (request) => git.leftMarks(at(request)),
    push: (branch, push) => git.push({ ...at(branch), ...push }),
    followRemote: (session, from, to) => git.followRemote({ workTree: placesOf(session).workTree, from, to })
  }
  return changes
})

/** `Changes.capture`. */
const makeCapture = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git

  return Effect.fnUntraced(function* (session: SessionId, base: string | null, changeset: ChangesetId) {
    const { gitDir, workTree } = sessionPaths(dataDir, session)
    const snapshot = yield* git.snapshot({
      gitDir,
      workTree,
      base,
      message: `Capture ${changeset}`,
      keepAs: `changesets/${changeset}`
    })
    yield* failpoint("capture.tree_written")
    const { additions, changes, deletions, diagnostics, digests, files, hidden, index, tree } = snapshot
    const [subject, left, obstacles] = yield* Effect.all(
      [
        git.subject({ gitDir, base, tree, changes, digests }),
        git.leftBehind({ gitDir, workTree, base, tree, index }),
        Effect.catchTag(git.obstacles({ gitDir, base, tree, changes, index }), "GitError", ({ message }) =>
          Effect.succeed(message)
        )
      ],
      { concurrency: 3 }
    )
    yield* failpoint("capture.kept")
    const captured: TreeCapture = {
      tree,
      files,
      additions,
      deletions,
      diagnostics,
      left,
      hidden,
      obstacles,
      digest: subject.digest
    }
    return captured
  })
})
