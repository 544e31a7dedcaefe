import { useComputed, useSignal } from "@preact/signals"
import { useMemo, useRef } from "preact/hooks"
import { VirtualList } from "../ui/VirtualList.js"
import { filesOf } from "./DiffFiles.js"
import { LineText } from "./DiffLine.js"
import { type FileDiff, type Line, type Place, type Row, rowsOf } from "./DiffRows.js"
import { type Comment, placeKey, type Review } from "./Review.js"

/** A diff of any length, with a tree of its files. */
export const DiffView = ({
  diff,
  isSplit,
  review
}: {
  readonly diff: string
  readonly isSplit: boolean
  readonly review: Review
}) => {
  const files = useMemo(() => filesOf(diff), [diff])
  const rows = useMemo(() => rowsOf(files, isSplit, review.viewed.value), [files, isSplit, review.viewed.value])
  const top = useSignal(0)
  const writing = useSignal<string | undefined>(undefined)
  const reveal = useRef<((index: number) => void) | undefined>(undefined)
  const comments = useComputed(() => new Map(review.comments.value.map((each) => [placeKey(each), each])))
  const seen = rows[top.value]?.file ?? 0
  const given = { writing, comments: comments.value, review }
  return (
    <div class="diff">
      <FileTree
        files={files}
        seen={seen}
        viewed={review.viewed.value}
        open={(index) => reveal.current?.(rows.findIndex((row) => row.kind === "file" && row.file === index))}
      />
      <div class="diff-main">
        <p class="diff-file" aria-hidden="true">
          {files[seen]?.path}
        </p>
        <VirtualList
          items={rows}
          keyOf={(row) => `${isSplit}.${row.key}`}
          estimate={(row) => (row.kind === "file" ? 42 : row.kind === "hunk" ? 26 : 20)}
          label="Diff"
          onTop={(index) => {
            if (top.peek() !== index) top.value = index
          }}
          reveal={reveal}
          render={(row) => <RowView row={row} {...given} />}
        />
      </div>
    </div>
  )
}

const FileTree = ({
  files,
  open,
  seen,
  viewed
}: {
  readonly files: ReadonlyArray<FileDiff>
  readonly seen: number
  readonly viewed: ReadonlySet<string>
  readonly open: (index: number) => void
}) => (
  <nav class="tree" aria-label="Changed files">
    <ul>
      {files
        .map((file, index) => ({ ...file, index }))
        .sort((one, other) => one.path.localeCompare(other.path))
        .map(({ additions, deletions, index, path }, at, sorted) => {
          const folder = folderOf(path)
          return (
            <li key={path}>
              {folder !== "" && folder !== folderOf(sorted[at - 1]?.path ?? "") && <p class="folder">{folder}</p>}
              <button
                type="button"
                class={folder === "" ? "" : "inner"}
                aria-current={index === seen ? "true" : undefined}
                onClick={() => open(index)}
              >
                <span>
                  {viewed.has(path) ? "✓ " : ""}
                  {path.slice(folder === "" ? 0 : folder.length + 1)}
                </span>
                <span class="delta">
                  <ins>+{additions}</ins> <del>−{deletions}</del>
                </span>
              </button>
            </li>
          )
        })}
    </ul>
  </nav>
)

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

interface RowProps {
  readonly row: Row
  readonly writing: { value: string | undefined }
  readonly comments: ReadonlyMap<string, Comment>
  readonly review: Review
}

const RowView = ({ row, ...given }: RowProps) => {
  switch (row.kind) {
    case "file":
      return <FileHead diff={row.diff} review={given.review} />
    case "hunk":
      return <p class="hunk">{row.header}</p>
    case "note":
      return <p class="hunk">{row.text}</p>
    case "line": {
      const { line, path } = row
      return (
        <>
          <div class={`diff-line ${line.kind}`}>
            <Number line={line} path={path} side="before" {...given} />
            <Number line={line} path={path} side="after" {...given} />
            <LineText line={line} />
          </div>
          <CommentOf path={path} line={line} {...given} />
        </>
      )
    }
    case "pair": {
      const { left, path, right } = row
      return (
        <>
          <div class="diff-pair">
            <Half line={left} path={path} side="before" {...given} />
            <Half line={right} path={path} side="after" {...given} />
          </div>
          {left !== null && left.kind === "delete" && <CommentOf path={path} line={left} {...given} />}
          {right !== null && <CommentOf path={path} line={right} {...given} />}
        </>
      )
    }
  }
}

const FileHead = ({
  diff: { additions, deletions, oldPath, path },
  review
}: {
  readonly diff: FileDiff
  readonly review: Review
}) => (
  <div class="file-head">
    <code>{oldPath === null ? path : `${oldPath} → ${path}`}</code>
    <span class="delta">
      <ins>+{additions}</ins> <del>−{deletions}</del>
    </span>
    <label>
      <input
        type="checkbox"
        checked={review.viewed.value.has(path)}
        onChange={({ currentTarget }) => review.markViewed(path, currentTarget.checked)}
      />{" "}
      Viewed
    </label>
  </div>
)

type LineProps = Omit<RowProps, "row"> & { readonly path: string; readonly side: "before" | "after" }

const Half = ({ line, ...given }: LineProps & { readonly line: Line | null }) =>
  line === null ? (
    <div class="diff-line none" />
  ) : (
    <div class={`diff-line ${line.kind}`}>
      <Number line={line} {...given} />
      <LineText line={line} />
    </div>
  )

/** The number of a line. A press on it begins a comment. */
const Number = ({ line, path, side, writing }: LineProps & { readonly line: Line }) => {
  const number = line[side]
  const place = placeOf(path, line)
  if (number === null || place === undefined) return <span class="number" />
  const begins = side === place.side
  return begins ? (
    <button
      type="button"
      class="number"
      aria-label={`Comment on ${path}, ${side === "after" ? "line" : "old line"} ${number}`}
      onClick={() => (writing.value = placeKey(place))}
    >
      {number}
    </button>
  ) : (
    <span class="number">{number}</span>
  )
}

const placeOf = (path: string, { after, before, kind }: Line): Place | undefined => {
  const side = kind === "delete" ? "before" : "after"
  const number = side === "after" ? after : before
  return number === null ? undefined : { path, side, number }
}

const CommentOf = ({ comments, line, path, review, writing }: Omit<LineProps, "side"> & { readonly line: Line }) => {
  const place = placeOf(path, line)
  if (place === undefined) return null
  const key = placeKey(place)
  const known = comments.get(key)
  if (writing.value === key)
    return (
      <form
        class="comment"
        onSubmit={(event) => {
          event.preventDefault()
          const text = new FormData(event.currentTarget).get("text")
          review.comment({ ...place, quote: line.text, text: typeof text === "string" ? text : "" })
          writing.value = undefined
        }}
      >
        <textarea name="text" aria-label="Comment" rows={3} autofocus defaultValue={known?.text ?? ""} />
        <p>
          <button type="submit" class="primary small">
            Add comment
          </button>{" "}
          <button type="button" class="small" onClick={() => (writing.value = undefined)}>
            Cancel
          </button>
        </p>
      </form>
    )
  if (known === undefined) return null
  return (
    <div class="comment">
      <p>{known.text}</p>
      <p class="fine">
        <button type="button" class="link" onClick={() => (writing.value = key)}>
          Change
        </button>{" "}
        ·{" "}
        <button type="button" class="link" onClick={() => review.comment({ ...known, text: "" })}>
          Delete
        </button>
      </p>
    </div>
  )
}
