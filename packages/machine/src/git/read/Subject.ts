import { createHash, type Hash } from "node:crypto"
import { Effect } from "effect"
import { requireTrusted } from "../../repository/Repository.js"
import { type RawChange, rawChanges, shownName } from "../../repository/read/Changes.js"
import { type Digests, readDigests, writeDigests } from "../../repository/read/Digests.js"
import { gitlink } from "../../repository/read/GitModules.js"
import { git } from "../../repository/run/GitCommand.js"
import { type GitError, notUnderstood } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** One path of a sealed change. A deleted path has mode `000000` and no digest. The digest of a submodule is `commit:<id>`. */
export interface SubjectEntry {
  readonly path: string
  readonly mode: string
  readonly digest: string | null
}

/** The content of a seal: the base commit, and every changed path with the SHA-256 of its new content. */
export interface SubjectManifest {
  readonly base: string | null
  readonly entries: ReadonlyArray<SubjectEntry>
}

/** A manifest with its digest, `sha256:<hex>`. */
export interface DigestedSubject extends SubjectManifest {
  readonly digest: string
}

/** A tree to describe against its base (null: against nothing). */
export interface SubjectRequest {
  readonly gitDir: string
  readonly base: string | null
  readonly tree: string
  /** The changes between the two, when a snapshot has found them already. */
  readonly changes?: ReadonlyArray<RawChange>
  /** The digests of contents that a snapshot has stored. */
  readonly digests?: Digests
}

/**
 * The digest `sha256:<hex>` of a manifest. Its canonical form is UTF-8: the line `reins.subject.v1`, the base commit or `-`,
 * then one JSON array `[path, mode, digest]` a line, in byte order of the path. The order of `entries` has no influence.
 */
export const subjectDigest = (manifest: SubjectManifest): string => {
  const lines = manifest.entries
    .map((entry) => ({ key: Buffer.from(entry.path), line: JSON.stringify([entry.path, entry.mode, entry.digest]) }))
    .sort((left, right) => Buffer.compare(left.key, right.key))
    .map((entry) => `${entry.line}\n`)
  const text = `reins.subject.v1\n${manifest.base ?? "-"}\n${lines.join("")}`
  return `sha256:${createHash("sha256").update(text).digest("hex")}`
}

/**
 * Takes the output of `cat-file --batch` piece by piece and hashes the content of each object, so that no content has to fit into memory. Nothing is
 * found in an output that is not understood.
 */
export const batchHasher = () => {
  const digests = new Map<string, string>()
  let header = ""
  let current: { readonly id: string; readonly hash: Hash; left: number } | null = null
  let newline = false
  let isUnknown = false
  const take = (chunk: Buffer) => {
    if (isUnknown) return
    let at = 0
    while (at < chunk.length) {
      if (newline) {
        newline = false
        at += 1
      } else if (current === null) {
        const end = chunk.indexOf(10, at)
        header += chunk.toString("latin1", at, end < 0 ? chunk.length : end)
        at = end < 0 ? chunk.length : end + 1
        if (end >= 0) {
          const [, id = "", size] = /^([0-9a-f]{40}) blob (\d+)$/.exec(header) ?? []
          header = ""
          if (size === undefined) {
            isUnknown = true
            return
          }
          current = { id, hash: createHash("sha256"), left: Number(size) }
        }
      } else {
        const end = Math.min(chunk.length, at + current.left)
        current.hash.update(chunk.subarray(at, end))
        current.left -= end - at
        at = end
      }
      if (current !== null && current.left === 0) {
        digests.set(current.id, `sha256:${current.hash.digest("hex")}`)
        current = null
        newline = true
      }
    }
  }
  return { take, found: () => (isUnknown || current !== null ? null : digests) }
}

/** The SHA-256 of the content of each blob. */
const blobDigests = (
  options: GitOptionsShape,
  gitDir: string,
  ids: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, string>, GitError> => {
  if (ids.length === 0) return Effect.succeed(new Map())
  const hasher = batchHasher()
  return git({
    args: ["cat-file", "--batch", "--buffer"],
    gitDir,
    stdin: Buffer.from(ids.map((id) => `${id}\n`).join("")),
    maxStdoutBytes: Number.POSITIVE_INFINITY,
    onStdout: hasher.take,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.map(hasher.found),
    Effect.filterOrFail(
      (digests): digests is Map<string, string> => digests !== null && ids.every((id) => digests.has(id)),
      () => notUnderstood("cat-file")
    )
  )
}

/** The digests of the contents. Only those are read that nobody has told or kept. */
const digestsOf = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  { digests: told, gitDir }: SubjectRequest,
  ids: ReadonlySet<string>
) {
  if (ids.size === 0) return new Map<string, string>()
  const kept = yield* readDigests(gitDir)
  const known = new Map(
    [...ids].flatMap((id) => {
      const digest = kept.get(id) ?? told?.get(id)
      return digest === undefined ? [] : [[id, digest] as const]
    })
  )
  const read = yield* blobDigests(
    options,
    gitDir,
    [...ids].filter((id) => !known.has(id))
  )
  const all = new Map([...known, ...read])
  if ([...ids].some((id) => !kept.has(id))) yield* writeDigests(gitDir, all)
  return all
})

const absentMode = "000000"

/** See `Git.subject`. */
export const subjectOf = Effect.fnUntraced(function* (options: GitOptionsShape, request: SubjectRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...(request.base === null ? [] : [request.base]))
  const changes = request.changes ?? (yield* rawChanges(options, request.gitDir, request.base, request.tree))
  const files = changes.filter((change) => change.newMode !== absentMode && change.newMode !== gitlink)
  const digests = yield* digestsOf(options, request, new Set(files.map((change) => change.newId)))
  const entries = changes.map(
    (change): SubjectEntry => ({
      path: shownName(change.path),
      mode: change.newMode,
      digest:
        change.newMode === absentMode
          ? null
          : change.newMode === gitlink
            ? `commit:${change.newId}`
            : (digests.get(change.newId) ?? null)
    })
  )
  const manifest = { base: request.base, entries }
  const subject: DigestedSubject = { ...manifest, digest: subjectDigest(manifest) }
  return subject
})
