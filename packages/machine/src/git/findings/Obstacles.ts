import { join } from "node:path"
import { Effect } from "effect"
import { type Attributes, isGiven } from "../../capture/attributes/Attributes.js"
import { type BlobHead, blobHeads } from "../../capture/attributes/BlobHeads.js"
import { treeFilters } from "../../capture/attributes/TreeAttributes.js"
import { withCapturing } from "../../capture/index/Capturing.js"
import type { IndexFile } from "../../capture/index/IndexFile.js"
import { requireTrusted } from "../../repository/Repository.js"
import { isAttributes, type RawChange, rawChanges } from "../../repository/read/Changes.js"
import type { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { nameCollisions } from "./Collisions.js"
import { type KnownTree, knownTree } from "./KnownTree.js"
import { type DeliveryObstacle, obstacleReasons } from "./Obstacle.js"
import { isPointer, pointerBytes } from "./Pointer.js"

// Finds what should not reach a branch unseen. No filter runs, so content is judged by its form.

/** A reason not to deliver a change, with its paths. All names are latin1. */
export interface Obstacle {
  readonly kind: DeliveryObstacle
  /** The filter that the content belongs to; null for a name. */
  readonly filter: string | null
  /** All paths that it is about, in byte order. */
  readonly paths: ReadonlyArray<string>
  /** For each of the paths the name that it collides with; empty for content. */
  readonly beside: ReadonlyArray<string>
}

/** The obstacle of paths that the agent's git hides, though it may have another version of them; none for no paths. */
export const hiddenObstacles = (paths: ReadonlyArray<string>): ReadonlyArray<Obstacle> =>
  paths.length === 0 ? [] : [{ kind: "hidden_content", filter: null, paths, beside: [] }]

/** A change in a trusted directory. */
export interface ObstacleRequest {
  readonly gitDir: string
  /** Null compares with nothing. */
  readonly base: string | null
  readonly tree: string
  /** The change from `base` to `tree`, each path by itself without renames, where it is known. */
  readonly changes?: ReadonlyArray<RawChange>
  /** The index of the base, where a capture has read it. git is asked about the tree otherwise. */
  readonly index?: IndexFile
}

/** Names of filters that encrypt, as git-crypt, transcrypt and git-agecrypt have them. */
const encrypting = /crypt|cipher|openssl|sops|vault|gpg|pgp|secret|kms|(?:^|[^a-z])age(?:[^a-z]|$)/i

/** The kind of obstacle that content of a filter is. */
export const kindOfFilter = (filter: string): DeliveryObstacle => {
  if (filter === "lfs") return "lfs_content"
  return encrypting.test(filter) ? "unencrypted_content" : "unfiltered_content"
}

/** The first bytes of what git-crypt and transcrypt store. */
const sealed = [Buffer.from("\0GITCRYPT\0"), Buffer.from("U2FsdGVkX1")]

/** True for content in the form that the filter stores, as far as the form tells it. */
const isStored = (kind: DeliveryObstacle, { head, size }: BlobHead): boolean => {
  switch (kind) {
    case "lfs_content":
      return size === 0 || (size < pointerBytes && isPointer(head))
    case "unencrypted_content":
      return size === 0 || sealed.some((beginning) => beginning.equals(head.subarray(0, beginning.length)))
    default:
      return false
  }
}

const isFile = (mode: string): boolean => mode.startsWith("100")

type Filters = ReadonlyMap<string, Attributes>

/** The filter of a path. One that encrypted the path before holds on, because an agent may have taken its line away. */
const filterOf = (path: string, after: Filters, before: Filters): string | undefined => {
  const [now, once] = [after.get(path)?.get("filter"), before.get(path)?.get("filter")]
  if (isGiven(now)) return now
  return isGiven(once) && kindOfFilter(once) === "unencrypted_content" ? once : undefined
}

/** The contents that the base stores for each filter. Such a content is stored as it should be wherever it has moved to. */
const storedBefore = (changes: ReadonlyArray<RawChange>, before: Filters) => {
  const stored = new Map<string, Set<string>>()
  for (const { oldId, oldMode, path } of changes) {
    const filter = before.get(path)?.get("filter")
    if (!isFile(oldMode) || !isGiven(filter)) continue
    const ids = stored.get(filter)
    if (ids === undefined) stored.set(filter, new Set([oldId]))
    else ids.add(oldId)
  }
  return stored
}

const unfilteredContent = (
  options: GitOptionsShape,
  request: ObstacleRequest,
  changes: ReadonlyArray<RawChange>,
  known: KnownTree | null
) =>
  withCapturing(options, { ...request, workTree: request.gitDir }, false, ({ folder }) =>
    Effect.gen(function* () {
      const { base, gitDir, tree } = request
      const written = changes.filter(
        ({ newId, newMode, oldId, oldMode }) => isFile(newMode) && (newId !== oldId || !isFile(oldMode))
      )
      if (written.length === 0) return []
      const attributes = known === null ? undefined : yield* known.attributes
      const filtersIn = (at: string, name: "before" | "after") =>
        treeFilters(options, {
          gitDir,
          tree: at,
          place: join(folder, name),
          paths: changes.map(({ path }) => path),
          ...(attributes !== undefined && { attributes: attributes[name] })
        })
      const none: Filters = new Map()
      const after = yield* filtersIn(tree, "after")
      // A change that leaves all attributes as they are gives each path what it had before.
      const isGivenAnew = changes.some(isAttributes)
      const before = base === null ? none : isGivenAnew ? yield* filtersIn(base, "before") : after
      const stored = storedBefore(changes, before)
      const filtered = written.flatMap(({ newId, path }) => {
        const filter = filterOf(path, after, before)
        return filter === undefined || stored.get(filter)?.has(newId) === true ? [] : [{ filter, id: newId, path }]
      })
      const heads = yield* blobHeads(
        options,
        gitDir,
        filtered.map(({ id }) => id),
        pointerBytes
      )
      const found = new Map<string, Array<string>>()
      for (const { filter, id, path } of filtered) {
        const head = heads.get(id)
        if (head !== undefined && isStored(kindOfFilter(filter), head)) continue
        const paths = found.get(filter)
        if (paths === undefined) found.set(filter, [path])
        else paths.push(path)
      }
      return [...found].map(([filter, paths]): Obstacle => ({ kind: kindOfFilter(filter), filter, paths, beside: [] }))
    })
  )

const gravity = Object.keys(obstacleReasons)

const byGravity = (left: Obstacle, right: Obstacle): number =>
  gravity.indexOf(left.kind) - gravity.indexOf(right.kind) || ((left.filter ?? "") < (right.filter ?? "") ? -1 : 1)

/** See `Git.obstacles`. */
export const obstacles = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  request: ObstacleRequest
): Effect.fn.Return<ReadonlyArray<Obstacle>, GitError> {
  const { base, gitDir, tree } = request
  yield* requireTrusted(gitDir, tree, ...(base === null ? [] : [base]))
  const changes = request.changes ?? (yield* rawChanges(options, gitDir, base, tree))
  const known = request.index === undefined ? null : knownTree(request.index, changes)
  const [content, names] = yield* Effect.all(
    [unfilteredContent(options, request, changes, known), nameCollisions(options, request, changes, known)],
    { concurrency: 2 }
  )
  const collided = [...names].sort(([left], [right]) => (left < right ? -1 : 1))
  const collision: Obstacle = {
    kind: "name_collision",
    filter: null,
    paths: collided.map(([path]) => path),
    beside: collided.map(([, other]) => other)
  }
  return [...content, ...(names.size === 0 ? [] : [collision])].sort(byGravity)
})
