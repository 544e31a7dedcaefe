import { useSignal } from "@preact/signals"
import type { FileDiff } from "./DiffRows.js"

/** The changed files by their folders, in the order of the diff. A folder folds. */
export const FileTree = ({
  files,
  open,
  seen,
  viewed
}: {
  readonly files: ReadonlyArray<FileDiff>
  /** The file that is in sight. */
  readonly seen: number
  readonly viewed: ReadonlySet<string>
  readonly open: (index: number) => void
}) => {
  const folded = useSignal<ReadonlySet<string>>(new Set())
  const toggle = (folder: string) => {
    const next = new Set(folded.value)
    if (!next.delete(folder)) next.add(folder)
    folded.value = next
  }
  return (
    <nav class="tree" aria-label="Changed files">
      <ul>
        {files.map(({ additions, deletions, path }, index) => {
          const folder = folderOf(path)
          const isFolded = folded.value.has(folder)
          const isFirst = folder !== "" && folder !== folderOf(files[index - 1]?.path ?? "")
          return (
            <li key={path}>
              {isFirst && (
                <button type="button" class="folder" aria-expanded={!isFolded} onClick={() => toggle(folder)}>
                  <span>
                    <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span> {folder}
                  </span>
                </button>
              )}
              {!isFolded && (
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
              )}
            </li>
          )
        })}
      </ul>
    </nav>
  )
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))
