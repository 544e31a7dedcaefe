import { parse } from "diff2html/lib-esm/diff-parser.js"
import { type FileDiff, withChanges } from "./DiffRows.js"

/** The files of a unified diff as git writes it. */
export const filesOf = (diff: string): ReadonlyArray<FileDiff> =>
  parse(diff, {}).map((file) => {
    const isGone = file.newName === "/dev/null"
    return {
      path: isGone ? file.oldName : file.newName,
      oldPath: file.isRename === true ? file.oldName : null,
      additions: file.addedLines,
      deletions: file.deletedLines,
      isBinary: file.isBinary === true,
      hunks: file.blocks.map(({ header, lines }) => ({
        header,
        lines: withChanges(
          lines.map((line) => ({
            kind: line.type,
            text: line.content.slice(1),
            before: line.oldNumber ?? null,
            after: line.newNumber ?? null,
            changed: null
          }))
        )
      }))
    }
  })
